"""The best point of every row so far, and the searches that improve on it."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.attacks.base import Attack, Found
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import PointFloat, PointRows, PointSlots, Slots


class Incumbent:
    """The best point of every row so far: a point that meets the goal comes before one that does not, then the loss.

    It starts as the clean row, whose loss costs one forward pass; `clean_logits` keeps the answer. A row that is
    `settled` has been tried in full within the budget: it needs no further search.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.slots = problem.clean_slots
        rows = torch.arange(len(problem), device=self.slots.device)
        self.clean_logits = problem.answers_to_clean()
        self.loss, self.fooled = problem.judge(rows, self.clean_logits)
        self.settled = torch.zeros_like(self.fooled)

    def standing(self) -> Int64[Tensor, "some"]:
        """Rows that have not fallen yet, may still ask, and have anything left to ask about."""
        return (~self.fooled & ~self.settled & (self._problem.remaining > 0)).nonzero()[:, 0]

    def offer(self, rows: PointRows, slots: PointSlots, loss: PointFloat, fooled: Bool[Tensor, "points"]) -> None:
        """Takes over every row's best point of a ragged list, where it is better than what is known."""
        met = torch.zeros_like(self.fooled).index_put_((rows,), fooled, accumulate=True)
        points, who = best_points(rows, loss.masked_fill(met[rows] & ~fooled, -torch.inf), len(self.loss))
        better = (fooled[points] > self.fooled[who]) | (
            (fooled[points] == self.fooled[who]) & (loss[points] > self.loss[who])
        )
        points, who = points[better], who[better]
        self.slots[who], self.loss[who], self.fooled[who] = slots[points], loss[points], fooled[points]


@dataclass(frozen=True, kw_only=True)
class Search(Attack):
    """An attack that improves on what is known of a batch, so that it can be a stage of an ensemble."""

    @abstractmethod
    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Offers points to `best`; works on its standing rows alone."""

    @final
    def run(self, problem: Problem, random: RowRandom) -> Slots:
        """Searches from the clean rows."""
        return self.find(problem, random).slots

    @final
    def find(self, problem: Problem, random: RowRandom) -> Found:
        """Searches from the clean rows and keeps what was settled on the way."""
        best = Incumbent(problem)
        self.search(problem, random, best)
        return Found(best.slots, best.settled)


def best_points(rows: PointRows, loss: PointFloat, batch: int) -> tuple[Int64[Tensor, "some"], Int64[Tensor, "some"]]:
    """The first best point of every row that occurs in a ragged list, and which row that is."""
    best = torch.full((batch,), -torch.inf, device=loss.device, dtype=loss.dtype).scatter_reduce_(0, rows, loss, "amax")
    number = torch.where(loss == best[rows], torch.arange(len(rows), device=rows.device), len(rows))
    first = torch.full((batch,), len(rows), device=rows.device).scatter_reduce_(0, rows, number, "amin")
    who = (first < len(rows)).nonzero()[:, 0]
    return first[who], who
