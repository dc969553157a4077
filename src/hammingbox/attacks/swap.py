"""Swap search: coordinate search with exchanges, guided by the gradient at the row it stands on."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.tabu_search import Gains, Guide, Walk
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import Slots


class _Gradient(Guide):
    """First-order gains at the row itself, the ranking of HotFlip (Ebrahimi et al. 2018)."""

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:  # noqa: ARG002
        return first_order_gain(problem, here)[1][..., None]


@dataclass(frozen=True, kw_only=True)
class Swap(Walk):
    """Walks by swaps (see :class:`Walk`); one backward pass ranks every move, the best `tries` are tried for real.

    Cost: 1 + steps (1 + tries) forward and `steps` backward passes at most, and `starts` more forward passes for every
    new start, of which there is at most one in `patience` steps.
    """

    needs_gradient: ClassVar[bool] = True

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Walks by first-order gains."""
        self.walk(problem, random, _Gradient(), best, Visited(problem.candidates.layout, len(problem)))
