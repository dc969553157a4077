"""The worst case over attacks, without settings: cheapest stage first, each stage only on rows that are still open."""

from dataclasses import dataclass
from typing import ClassVar

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.evolution import Evolution
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.attacks.local import Local
from hammingbox.attacks.pcaa import PCAA
from hammingbox.attacks.priced_auto import PricedAuto
from hammingbox.attacks.swap import Swap
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom

_NO_LIMIT = 2**62
_MANY_OPTIONS = 2_000
"""Above this number of options, a short swap search breaks most breakable rows before the enumeration would."""


@dataclass(frozen=True, kw_only=True)
class Auto(Search):
    """Runs attacks in order of cost, each on the rows that are still open (as AutoAttack does, Croce and Hein 2020).

    - With gradients, at budget 1: all single changes in the order of their first-order gain, so the result is exact.
      Where there are thousands, a short swap search comes first.
    - With gradients, above budget 1: a short swap search; half of PCAA's sweep, whose averaged gradients are less
      misleading than a single one; a wide swap search, a few steps from the best row known with many tries each, for
      rows that are nearly broken; a long one from random rows, for rows that only a few sets of changes break; then
      evolution, which needs no gradient.
    - For a black box: local search, then evolution, and at budget 1 all single changes.
    - With a query limit: enumeration of the rows for which it suffices, which are then decided. The other rows get
      local search with all queries; divided between two searches, the queries break fewer rows.

    - Where changes have prices: enumeration in order of cost for rows that can afford few points. Any other row gets
      short searches first, and longer ones only as long as they need far fewer passes than enumeration would, see
      `PricedAuto`.

    `AttackResult.stage` says which stage broke a row (numbered from 1, see `stages`), `forward` and `backward` say at
    what cost. A row leaves as soon as it is broken.

    Cost: the sum of the stages that a row goes through.

    Attributes:
        minimum: look for the smallest budget that breaks each row: budget 1 is tried first, then 2, up to the threat's.
            `AttackResult.distance` is then that budget for every broken row, and one run gives the whole curve of
            success against budget. With prices, it looks for the cheapest evasion of each row: `AttackResult.cost` is
            then its cost.
    """

    randomised: ClassVar[bool] = True

    minimum: bool = False

    @property
    def uses_gradient(self) -> bool:
        """It does, unless queries are limited."""
        return self.queries is None

    def stages(self, problem: Problem, *, last: bool = True) -> tuple[Search, ...]:
        """The attacks in order, for this victim and budget.

        Args:
            problem: gives the victim, the budget and the query limit.
            last: no larger budget follows, so all queries may be spent.
        """
        if problem.purse is not None:
            return tuple(stage.attack for stage in self._priced().stages(problem))
        if problem.victim.has_gradient and self.queries is None:
            if problem.budget == 1:
                exact = Exhaustive(objective=self.objective, verdict=True, max_passes=_NO_LIMIT)
                many = problem.candidates.layout.options > _MANY_OPTIONS
                return (Swap(objective=self.objective), exact) if many else (exact,)
            return (
                Swap(objective=self.objective),
                PCAA(objective=self.objective, rounds=PCAA.rounds // 2),
                Swap(objective=self.objective, steps=4, tries=192),
                Swap(objective=self.objective, steps=100, patience=4, fresh=True),
                Evolution(objective=self.objective, generations=9),
            )
        limit = problem.meter.limit
        if limit is not None:
            # Single changes say nothing about each other: at budget 1 there is nothing to learn. Above, a few of them
            # seed the model. A step makes at least one query, or the row has no new point left, so `limit` steps spend
            # all queries.
            sweep, steps = (limit, 0) if problem.budget == 1 else (Local.sweep, limit)
            return (
                Exhaustive(objective=self.objective, verdict=True, max_passes=limit, skip=True),
                Local(objective=self.objective, sweep=sweep, steps=steps)
                if last
                else Local(objective=self.objective, steps=25),
            )
        # A few wide steps instead of many narrow ones: about as many passes and broken rows in half of the calls.
        wide = Local(objective=self.objective, steps=22, tries=32, patience=2)
        search = (wide, Evolution(objective=self.objective))
        if problem.budget == 1:
            return (*search, Exhaustive(objective=self.objective, verdict=True, max_passes=_NO_LIMIT))
        return search

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Runs all stages, at the threat's budget or at every budget up to it."""
        if problem.purse is not None:
            self._priced().search(problem, random, best)
            return
        stage, closed = problem.meter.stage, best.settled.clone()
        for budget in self._budgets(problem):
            part = problem.within(budget)
            best.settled = closed.clone()  # what was settled at the budget before is open again
            for number, attack in enumerate(self.stages(part, last=budget == problem.budget), 1):
                rows = best.open_rows()
                if len(rows) == 0:
                    break
                attack.search(part, random, best)
                stage[problem.rows[rows]] = number

    def search_passes(self, problem: Problem) -> Passes:
        """The sum over all stages and budgets."""
        if problem.purse is not None:
            return self._priced().search_passes(problem)
        total = Passes.of(problem, 0.0)
        for budget in self._budgets(problem):
            part = problem.within(budget)
            for attack in self.stages(part, last=budget == problem.budget):
                total += attack.search_passes(part)
        return total

    def _priced(self) -> PricedAuto:
        return PricedAuto(self.objective, self.minimum)

    def _budgets(self, problem: Problem) -> range:
        return range(1 if self.minimum else problem.budget, problem.budget + 1)
