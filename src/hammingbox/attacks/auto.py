"""The worst case over attacks, free of parameters: cheapest stage first, each only on the rows still standing."""

from dataclasses import dataclass

from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.attacks.evolution import Evolution
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.attacks.local import Local
from hammingbox.attacks.pcaa import PCAA
from hammingbox.attacks.swap import Swap
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom

_NO_LIMIT = 2**62
_MANY_OPTIONS = 2_000
"""Among more, a short walk finds most rows that fall long before the sweep comes to their change."""


@dataclass(frozen=True, kw_only=True)
class Auto(Search):
    """Runs attacks, the cheapest first, each on the rows still standing (as AutoAttack does, Croce and Hein 2020).

    With gradients: at budget 1 all single changes in the order of their first-order gain, so that it is exact there
    (after a short swap search, where there are thousands);
    above, a short swap search, half of PCAA's sweep, whose averaged gradients see past a misleading one, a long swap
    search, then evolution, which needs no gradient. For a black box: local search, then evolution, and at budget 1 all
    single changes. Under a query limit: enumeration of the rows it suffices for, which are then decided; local search
    with all queries for the others, as divided between two searches they break fewer rows.

    `AttackResult.stage` says which stage broke a row (numbered from 1, see `stages`), `forward` and `backward` at what
    cost: a row that falls leaves at once.

    Cost: the sum of the stages a row goes through.

    Attributes:
        minimum: look for the smallest budget that breaks each row: budget 1 is tried first, then 2, up to the threat's.
            `AttackResult.distance` is then that budget for every row that fell, and one run gives the whole curve of
            success against budget.
    """

    minimum: bool = False

    @property
    def uses_gradient(self) -> bool:
        """Some of its stages do."""
        return True

    def stages(self, problem: Problem, *, last: bool = True) -> tuple[Search, ...]:
        """The attacks in order, for this victim and budget.

        Args:
            problem: says what is known of the victim, and the budget.
            last: no larger budget follows, so all queries may go.
        """
        if problem.victim.has_gradient and self.queries is None:
            if problem.budget == 1:
                exact = Exhaustive(objective=self.objective, verdict=True, max_passes=_NO_LIMIT)
                many = problem.candidates.layout.options > _MANY_OPTIONS
                return (Swap(objective=self.objective), exact) if many else (exact,)
            return (
                Swap(objective=self.objective),
                PCAA(objective=self.objective, zetas=PCAA.zetas[:2], ascent="adam"),
                Swap(objective=self.objective, steps=60, patience=4, fresh=True),
                Evolution(objective=self.objective, generations=9),
            )
        limit = problem.meter.limit
        if limit is not None:
            # Single changes tell nothing of each other; above budget 1 a few of them begin the model. A step asks at
            # least once, or the space is used up: so many steps use all queries.
            sweep, steps = (limit, 0) if problem.budget == 1 else (Local.sweep, limit)
            return (
                Exhaustive(objective=self.objective, verdict=True, max_passes=limit, skip=True),
                Local(objective=self.objective, sweep=sweep, steps=steps)
                if last
                else Local(objective=self.objective, steps=25),
            )
        search = (Local(objective=self.objective), Evolution(objective=self.objective))
        if problem.budget == 1:
            return (*search, Exhaustive(objective=self.objective, verdict=True, max_passes=_NO_LIMIT))
        return search

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """All stages at the budget, or at every budget up to it."""
        stage = problem.meter.stage
        for budget in range(1 if self.minimum else problem.budget, problem.budget + 1):
            part = problem.within(budget)
            best.settled.zero_()
            for number, attack in enumerate(self.stages(part, last=budget == problem.budget), 1):
                rows = best.standing()
                if len(rows) == 0:
                    break
                attack.search(part, random, best)
                stage[problem.rows[rows]] = number
