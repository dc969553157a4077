"""Swap search: coordinate search with exchanges, guided by the gradient at the current row."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.guide import Gains, Guide
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.tabu_search import TabuSearch
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import Slots


class _Gradient(Guide):
    """First-order gains at the current row, the ranking of HotFlip (Ebrahimi et al. 2018)."""

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:  # noqa: ARG002
        return first_order_gain(problem, here)[1][..., None]


@dataclass(frozen=True, kw_only=True)
class Swap(TabuSearch):
    """Tabu search (see :class:`TabuSearch`) by gradient: one backward pass ranks all moves, the best `tries` are tried.

    Cost: at most 1 + steps (1 + tries) + restarts starts forward and `steps` backward passes per row, with
    (steps - 1) // patience restarts, one more with `fresh`. See :meth:`TabuSearch.points_walked`.
    """

    needs_gradient: ClassVar[bool] = True

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Walks by first-order gains."""
        self.walk(problem, random, _Gradient(), best, Visited(problem.candidates.layout, len(problem)))

    def search_passes(self, problem: Problem) -> Passes:
        """One gradient per step, and the points of the walk."""
        return Passes.of(problem, self.steps + self.points_walked(), self.steps)
