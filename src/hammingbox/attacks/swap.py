"""Swap search: coordinate search with exchanges, guided by the gradient at the point it stands on."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks.base import Attack, Incumbent, try_points
from hammingbox.attacks.neighbourhood import best_moves
from hammingbox.attacks.random import random_slots
from hammingbox.attacks.two_stage import first_order_gain
from hammingbox.attacks.visited import Visited
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import RowFloat, Slots


@dataclass(frozen=True, kw_only=True)
class Swap(Attack):
    """Walks from row to row; one backward pass ranks every move from where it stands, the best few are tried for real.

    Below the budget a move adds a change or re-chooses a changed feature; at the budget it re-chooses a changed feature
    or gives one back for another. The walk goes to the best row tried, also downhill, and never tries a row
    twice, so it cannot circle. A row that has not improved for `patience` steps starts again from the best of a few
    random starts of half the budget. Rows that fall leave.

    Ours; the ranking is HotFlip's (Ebrahimi et al. 2018), the exchange and the ban on return are those of tabu search
    (Glover 1989).

    Cost: 1 forward pass, at most steps (1 + tries) forward and steps backward passes, and `starts` forward passes for
    every steps / patience.

    Attributes:
        steps: moves a row makes at most.
        tries: moves tried for real at each step.
        patience: steps without a better row before a new start.
        starts: random rows tried at a new start.
    """

    needs_gradient: ClassVar[bool] = True

    steps: int = 12
    tries: int = 16
    patience: int = 6
    starts: int = 8

    def run(self, problem: Problem, random: RowRandom) -> Slots:
        """Walks until a row falls or its steps are over."""
        best = Incumbent(problem)
        visited = Visited(problem.candidates.layout, len(problem))
        here, climbed = best.slots.clone(), best.loss.clone()  # where each row stands; its best loss since its start
        waited = torch.zeros_like(problem.rows)
        for _ in range(self.steps):
            rows = best.standing()
            stuck = rows[waited[rows] >= self.patience]
            if len(stuck):
                here[stuck], climbed[stuck] = self._start(problem, best, stuck, random)
                waited[stuck] = 0
                rows = best.standing()
            if len(rows) == 0:
                break
            part = problem.take(rows)
            _, gain = first_order_gain(part, here[rows])
            points, keys = best_moves(part, here[rows], gain, visited, rows, self.tries)
            loss = try_points(part, best, rows, points, keys != 0)
            value, chosen = loss.max(1)
            moved = value > -torch.inf
            there = points.gather(1, chosen[:, None, None].expand(-1, 1, points.shape[2]))[:, 0]
            here[rows] = torch.where(moved[:, None], there, here[rows])
            # A row with nothing new in reach is stuck at once.
            waited[rows] = torch.where(value > climbed[rows], 0, torch.where(moved, waited[rows] + 1, self.patience))
            climbed[rows] = torch.maximum(climbed[rows], value)
        return best.slots

    def _start(
        self, problem: Problem, best: Incumbent, rows: Int64[Tensor, "some"], random: RowRandom
    ) -> tuple[Slots, RowFloat]:
        """The best of a few random rows with half the budget spent, and its loss."""
        part = problem.take(rows)
        points = random_slots(part.within((problem.budget + 1) // 2), random.select(rows), self.starts)
        loss = try_points(part, best, rows, points, torch.ones_like(points[..., 0], dtype=torch.bool))
        value, chosen = loss.max(1)
        return points.gather(1, chosen[:, None, None].expand(-1, 1, points.shape[2]))[:, 0], value
