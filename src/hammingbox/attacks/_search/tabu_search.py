"""Tabu search: a walk by the most promising moves to points not tried before, with restarts."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import pad

from hammingbox.attacks._search.best_moves import best_moves
from hammingbox.attacks._search.guide import Guide
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import query_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import Slots

_GIVE_UP = 20
"""Consecutive steps without any new point before a row is given up: all points in reach have been visited."""


@dataclass(frozen=True, kw_only=True)
class TabuSearch(Search):
    """Tries the moves that a guide ranks best and goes to the best point tried, even if it is worse than the last one.

    Below the budget a move adds a change, changes a changed feature again, or changes it back; at the budget it may
    also exchange one changed feature for another. No move leads to a point tried before, so the walk does not go in
    circles (tabu search, Glover 1989). A row that has not improved for `patience` steps restarts from the best of a few
    points that the guide proposes. A row leaves as soon as it is broken.

    Attributes:
        steps: moves per row.
        tries: moves evaluated on the victim at each step.
        patience: steps without improvement before a restart.
        starts: points evaluated at a restart.
        fresh: begin with a restart instead of the best point known, which an earlier search has explored.
    """

    randomised: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("steps",)

    steps: int = 12
    tries: int = 16
    patience: int = 6
    starts: int = 8
    fresh: bool = False

    def walk(self, problem: Problem, random: RowRandom, guide: Guide, best: Incumbent, visited: Visited) -> None:
        """Walks until every row is broken, or its steps or queries are used up.

        In each round a row either restarts or makes a step, and the points of all rows are evaluated together. Rows
        know nothing of each other, so none waits for another's restart, and a black box is asked with larger tables.
        """
        here, climbed = best.slots.clone(), best.loss.clone()  # current point; best loss since the last start
        waited = torch.full_like(problem.rows, self.patience if self.fresh else 0)  # steps without improvement
        barren = torch.zeros_like(waited)  # steps without any new point
        left = torch.full_like(waited, self.steps)
        while True:
            rows = best.open_rows()
            rows = rows[(left[rows] > 0) & (barren[rows] < _GIVE_UP)]
            if len(rows) == 0:
                break
            stuck = waited[rows] >= self.patience
            rows, starts = torch.cat([rows[stuck], rows[~stuck]]), int(stuck.sum())
            stuck = torch.arange(len(rows), device=rows.device) < starts
            points, wanted = self._proposed(problem, random, guide, here, visited, rows, starts)
            loss, logits = query_points(problem, best, rows, points, wanted)
            guide.learn(rows, points, logits)
            there, value = _best_of(points, loss)
            moved = value > -torch.inf
            here.index_copy_(0, rows, torch.where(moved[:, None], there, here.index_select(0, rows)))
            idle, top = barren.index_select(0, rows), climbed.index_select(0, rows)
            barren.index_copy_(0, rows, torch.where(stuck, idle, torch.where(moved, 0, idle + 1)))
            # A row without any new point restarts at once.
            still = torch.where(moved, waited.index_select(0, rows) + 1, self.patience)
            waited.index_copy_(0, rows, torch.where(stuck | (value > top), 0, still))
            climbed.index_copy_(0, rows, torch.where(stuck, value, torch.maximum(top, value)))
            left[rows[starts:]] -= 1

    def _proposed(
        self,
        problem: Problem,
        random: RowRandom,
        guide: Guide,
        here: Slots,
        visited: Visited,
        rows: Int64[Tensor, "some"],
        starts: int,
    ) -> tuple[Int64[Tensor, "some points features"], Bool[Tensor, "some points"]]:
        """What each row evaluates next: the first `starts` rows new points to start from, the others moves."""
        begin, go = rows[:starts], rows[starts:]
        parts = []
        if len(begin):
            parts.append(guide.new_starts(problem.take(begin), begin, random.select(begin), self.starts))
        if len(go):
            points, keys = best_moves(problem.take(go), guide, here[go], visited, go, self.tries)
            parts.append((points, keys != 0))
        if len(parts) == 1:
            return parts[0]
        most = max(wanted.shape[1] for _, wanted in parts)
        points = torch.cat([pad(points, (0, 0, 0, most - points.shape[1])) for points, _ in parts])
        return points, torch.cat([pad(wanted, (0, most - wanted.shape[1])) for _, wanted in parts])

    def points_walked(self) -> int:
        """The most points that a walk evaluates per row: steps tries + restarts starts.

        A row restarts after `patience` steps without improvement, so at most (steps - 1) // patience times, and once
        more with `fresh`. It also restarts after a step without any new point. Such a step costs no tries, so it adds
        to the bound only where `starts` is larger than `tries`.
        """
        if self.steps == 0:
            return 0
        restarts = (self.steps - 1) // self.patience + int(self.fresh)
        after_barren_steps = (self.steps - 1) * max(0, self.starts - self.tries)
        return self.steps * self.tries + restarts * self.starts + after_barren_steps


def _best_of(
    points: Int64[Tensor, "some points features"], loss: Float[Tensor, "some points"]
) -> tuple[Int64[Tensor, "some features"], Float[Tensor, "some"]]:
    """The best point of every row, and its loss."""
    value, chosen = loss.max(1)
    return points.gather(1, chosen[:, None, None].expand(-1, 1, points.shape[2]))[:, 0], value
