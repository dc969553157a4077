"""Guides tell a tabu search which moves are promising."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.attacks._search.random_points import random_points
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, Slots

Answers = Float[Tensor, "batch points classes"]
"""The victim's logits of points; NaN for a point that was not evaluated."""

Gains = Float[Tensor, "batch options parts"]
"""The gain of each option, in parts. The parts of a move are summed over its options before they become one value."""


class Guide(ABC):
    """Estimates the gains of moves and may learn from the victim's answers."""

    @abstractmethod
    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:
        """The gain of taking each option from the current points.

        Args:
            problem: of these rows only.
            rows: numbers of these rows in the whole batch.
            here: the current point of each row.
        """

    def value(
        self,
        problem: Problem,  # noqa: ARG002
        rows: Int64[Tensor, "batch"],  # noqa: ARG002
        here: Slots,  # noqa: ARG002
        gain: Float[Tensor, "batch *moves parts"],
    ) -> Float[Tensor, "batch *moves"]:
        """The value of moves with these gains, for ranking. By default the only part of the gain."""
        return gain[..., 0]

    def new_starts(
        self,
        problem: Problem,
        rows: Int64[Tensor, "batch"],  # noqa: ARG002
        random: RowRandom,
        count: int,
    ) -> tuple[ManySlots, Bool[Tensor, "batch count"]]:
        """Points to restart from, and which of them to evaluate. By default random points that spend half the budget.

        They may have been tried before: recording them is left to guides that propose their own.
        """
        points = random_points(problem.within((problem.budget + 1) // 2), random, count)
        return points, torch.ones_like(points[..., 0], dtype=torch.bool)

    def learn(self, rows: Int64[Tensor, "batch"], points: ManySlots, logits: Answers) -> None:  # noqa: B027
        """Receives the victim's logits of points. By default nothing is learned."""
