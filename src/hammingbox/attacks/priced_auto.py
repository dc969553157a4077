"""What `auto` does where changes have prices: how much it searches for each row, and its cheapest evasions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import tolls_of
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.evolution import Evolution
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.attacks.local import Local
from hammingbox.attacks.pcaa import PCAA
from hammingbox.attacks.swap import Swap
from hammingbox.problem import Objective, Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Purse
from hammingbox.types import RowFloat, RowInt, RowMask

FEW_POINTS = 512
"""Rows that can afford no more points than this are enumerated, in order of cost."""

CHEAPER_POINTS = 2**14
"""If no more points than this are cheaper than a known evasion, they are enumerated: the cheapest one is then exact."""

_SHARE = {True: 21, False: 11}
"""A row's searches get as many passes as one in so many of its affordable points, with a gradient and without."""

_LEAST_PASSES = {True: 128, False: 200}
"""They get at least so many: the first two searches."""


class Stage(NamedTuple):
    """An attack of the sequence.

    Attributes:
        attack: what runs.
        only_cheap: without the changes that take more than half of what a row may spend. A walk that has paid for a
            dear change sees little of what cheap ones could do together. Rows without dear changes leave it out.
    """

    attack: Search
    only_cheap: bool = False


@dataclass(frozen=True)
class PricedAuto:
    """The stages of `auto` under prices.

    A row that can afford few points is enumerated. Any other row gets searches until their passes reach a fraction of
    the points it can afford: beyond that, enumeration (`oracle`) is the better bargain, since it also proves.

    Attributes:
        objective: of all stages.
        minimum: look for the cheapest evasion of each row.
    """

    objective: Objective
    minimum: bool

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        """The attacks in order, the cheapest first."""
        objective, limit = self.objective, problem.meter.limit
        few = FEW_POINTS if limit is None else limit
        enumeration = Stage(Exhaustive(objective=objective, verdict=True, max_passes=few, skip=True))
        if limit is not None:
            return (enumeration, Stage(Local(objective=objective, steps=limit)))
        if problem.victim.has_gradient:
            return (
                enumeration,
                Stage(Swap(objective=objective, steps=5, tries=8), only_cheap=True),
                Stage(Swap(objective=objective, steps=7, tries=8, patience=4, starts=4)),
                Stage(Swap(objective=objective, steps=12, tries=8, patience=4, starts=4, fresh=True)),
                Stage(PCAA(objective=objective, rounds=PCAA.rounds // 2)),
                Stage(Swap(objective=objective, steps=4, tries=192)),
                Stage(Swap(objective=objective, steps=100, patience=4, fresh=True)),
                Stage(Evolution(objective=objective, generations=9)),
            )
        return (
            enumeration,
            Stage(Local(objective=objective, sweep=32, steps=6), only_cheap=True),
            Stage(Local(objective=objective, sweep=48, steps=10)),
            Stage(Local(objective=objective)),
            Stage(Evolution(objective=objective)),
        )

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Runs the stages at the whole purse, then looks for cheaper evasions if these are wanted."""
        self._stages(problem, random, best)
        if self.minimum:
            self._cheaper(problem, random, best)

    def search_passes(self, problem: Problem) -> Passes:
        """The sum over the stages that a row takes part in. The search for cheaper evasions may repeat them."""
        points = affordable_points(problem, torch.arange(len(problem), device=problem.rows.device))
        total = Passes.of(problem, 0.0)
        for stage, part in self._plan(problem, points):
            passes = stage.attack.search_passes(problem)
            total += Passes(passes.forward * part, passes.backward * part)
        return total + Passes.unknown(problem) if self.minimum else total

    def _stages(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        rows = best.open_rows()
        points = torch.zeros(len(problem), dtype=torch.float64, device=rows.device)
        points[rows] = affordable_points(problem, rows)
        for number, (stage, part) in enumerate(self._plan(problem, points), 1):
            absent = ~part & ~best.settled  # they stand aside in this stage
            best.settled |= absent
            rows = best.open_rows()
            if len(rows):
                stage.attack.search(_only_cheap(problem) if stage.only_cheap else problem, random, best)
                problem.meter.stage[problem.rows[rows]] = number
            best.settled &= ~absent

    def _plan(self, problem: Problem, points: RowFloat) -> Iterator[tuple[Stage, RowMask]]:
        """The stages and the rows that take part: the enumeration for few points, searches within a row's share."""
        limit, white = problem.meter.limit, problem.victim.has_gradient
        few = points <= (FEW_POINTS if limit is None else limit)
        share = (points / _SHARE[white]).clamp(min=_LEAST_PASSES[white])
        spent, searches = torch.zeros_like(points), torch.zeros_like(problem.rows)
        enumeration, *others = self.stages(problem)
        yield enumeration, few
        for stage in others:
            passes = stage.attack.search_passes(problem)
            bound = passes.forward + passes.backward
            part = ~few & ((spent + bound <= share) | (searches == 0))
            if stage.only_cheap:
                part = part & _has_dear_changes(problem)
            spent, searches = spent + bound * part, searches + part
            yield stage, part

    # The cheapest evasion --------------------------------------------------------------------------------------

    def _cheaper(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Looks for cheaper evasions of broken rows, again and again below the cost of the last one found.

        Where few points are cheaper, these are enumerated in order of cost, and the row is done: what is found is the
        cheapest evasion, and so is the one known if nothing is found. Elsewhere all stages run below the known cost.
        """
        rows = best.fooled.nonzero()[:, 0]
        while True:
            rows = rows[self._ticks(problem, best, rows) > 0]
            if len(rows) == 0:
                break
            part = _below(problem.take(rows), self._ticks(problem, best, rows))
            cheaper = Incumbent(part, best.clean_logits[rows])
            points = affordable_points(part, torch.arange(len(rows), device=rows.device))
            few = points <= CHEAPER_POINTS
            cheaper.settled |= ~few
            exact = Exhaustive(objective=self.objective, verdict=True, max_passes=CHEAPER_POINTS, skip=True)
            exact.search(part, random.select(rows), cheaper)
            cheaper.settled = few
            self._stages(part, random.select(rows), cheaper)
            found = cheaper.fooled.nonzero()[:, 0]
            best.slots[rows[found]], best.loss[rows[found]] = cheaper.slots[found], cheaper.loss[found]
            rows = rows[found[~few[found]]]

    @staticmethod
    def _ticks(problem: Problem, best: Incumbent, rows: RowInt) -> RowInt:
        return problem.spent(rows, best.slots[rows])[:, 1]


def _below(problem: Problem, ticks: RowInt) -> Problem:
    """The same rows with less to spend than these ticks, which are more than 0."""
    purse: Purse = problem.known_purse.clone()
    purse[:, 1] = purse[:, 1].minimum(ticks - 1)
    return problem.with_purse(purse)


def _half(problem: Problem) -> Purse:
    """A purse with half the ticks."""
    purse: Purse = problem.known_purse.clone()
    purse[:, 1] //= 2
    return purse


def _has_dear_changes(problem: Problem) -> RowMask:
    """Rows with changes that take more than half of what may be spent."""
    dear = tolls_of(problem.candidates)[..., 1] > _half(problem)[:, None, 1]
    return (problem.candidates.moves & dear).any(1)


def _only_cheap(problem: Problem) -> Problem:
    """The same purse, without the changes that take more than half of it."""
    return replace(problem, candidates=problem.candidates.within(_half(problem)))
