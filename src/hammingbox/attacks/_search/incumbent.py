"""The best point of every row so far."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.problem import Problem
from hammingbox.types import Logits, PointFloat, PointRows, PointSlots


class Incumbent:
    """The best point of every row so far. A point that meets the goal beats one that does not; then the loss decides.

    It starts with the clean row, whose loss costs one forward pass unless its logits are known.

    Attributes:
        slots: the best point of each row.
        loss: its loss.
        fooled: whether it meets the goal, so that the row is broken.
        settled: rows of which every point within the budget has been tried; they need no further search.
        clean_logits: the victim's answers to the clean rows.
    """

    def __init__(self, problem: Problem, clean_logits: Logits | None = None) -> None:
        self._problem = problem
        self.slots = problem.clean_slots
        rows = torch.arange(len(problem), device=self.slots.device)
        self.clean_logits = problem.answers_to_clean() if clean_logits is None else clean_logits
        self.loss, self.fooled = problem.judge(rows, self.clean_logits)
        self.settled = torch.zeros_like(self.fooled)

    def open_rows(self) -> Int64[Tensor, "some"]:
        """Rows to search on: neither broken nor settled, with queries left."""
        done = self.fooled | self.settled
        if self._problem.meter.limit is not None:
            done |= self._problem.remaining <= 0
        return done.logical_not_().nonzero()[:, 0]

    def offer(self, rows: PointRows, slots: PointSlots, loss: PointFloat, fooled: Bool[Tensor, "points"]) -> None:
        """Takes each row's best point of a ragged list where it beats the best one so far."""
        met = torch.zeros_like(self.fooled).index_put_((rows,), fooled, accumulate=True)
        points, who = best_points(rows, loss.masked_fill(met[rows] & ~fooled, -torch.inf), len(self.loss))
        better = (fooled[points] > self.fooled[who]) | (
            (fooled[points] == self.fooled[who]) & (loss[points] > self.loss[who])
        )
        points, who = points[better], who[better]
        self.slots[who], self.loss[who], self.fooled[who] = slots[points], loss[points], fooled[points]

    def offer_lists(
        self,
        rows: Int64[Tensor, "some"],
        points: Int64[Tensor, "some points features"],
        loss: Float[Tensor, "some points"],
        fooled: Bool[Tensor, "some points"],
    ) -> None:
        """The same for lists of equal length, of rows of which each occurs once; a loss of minus infinity is no point.

        It takes a third of the operations, which counts where a search makes many small rounds.
        """
        met = fooled.any(1)
        value, place = loss.masked_fill(met[:, None] & ~fooled, -torch.inf).max(1)
        known = self.fooled.index_select(0, rows)
        better = (met > known) | ((met == known) & (value > self.loss.index_select(0, rows)))
        at = better.nonzero()[:, 0]
        if len(at) == 0:
            return
        who, chosen = rows.index_select(0, at), at * points.shape[1] + place.index_select(0, at)
        self.slots.index_copy_(0, who, points.flatten(0, 1).index_select(0, chosen))
        self.loss.index_copy_(0, who, value.index_select(0, at))
        self.fooled.index_copy_(0, who, met.index_select(0, at))


def best_points(rows: PointRows, loss: PointFloat, batch: int) -> tuple[Int64[Tensor, "some"], Int64[Tensor, "some"]]:
    """The best point of every row that occurs in a ragged list, and that row. The first of equal points is taken."""
    best = torch.full((batch,), -torch.inf, device=loss.device, dtype=loss.dtype).scatter_reduce_(0, rows, loss, "amax")
    number = torch.where(loss == best[rows], torch.arange(len(rows), device=rows.device), len(rows))
    first = torch.full((batch,), len(rows), device=rows.device).scatter_reduce_(0, rows, number, "amin")
    who = (first < len(rows)).nonzero()[:, 0]
    return first[who], who
