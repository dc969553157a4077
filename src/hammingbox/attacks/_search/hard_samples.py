"""Gradients at hard samples: discrete rows drawn from pi, which are scored by the same pass."""

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.mirror_ascent import Estimate
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.distribution import Distribution
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.types import PointSlots


class HardSamples:
    """The straight-through form of Eq. 4 (Jang et al. 2017): the victim sees discrete rows, pi gets their gradient.

    The rows are drawn from pi and projected to the budget, so they are points of the problem. The forward pass that a
    gradient needs anyway is their score: each sample is also a draw.

    Args:
        problem: of the open rows.
        random: one stream per row.
        samples: n_g, rows drawn for each gradient.
        best: gets the points.
        visited: remembers the points, so that they are not drawn again.
        rows: numbers of these rows in `best` and `visited`.
    """

    def __init__(
        self,
        problem: Problem,
        random: RowRandom,
        samples: int,
        best: Incumbent,
        visited: Visited,
        rows: Int64[Tensor, "batch"],
    ) -> None:
        self._random, self._samples, self._budget = random, samples, problem.budget
        self._purse = problem.purse
        self._best, self._visited, self._rows = best, visited, rows
        # As many samples at once as fit into memory; every row is there once for each of them.
        self._at_once = min(samples, max(1, problem.soft_rows_at_once // len(problem)))
        self._copies = problem.take(torch.arange(len(problem), device=rows.device).repeat_interleave(self._at_once))

    def __call__(self, pi: Distribution) -> Estimate:
        """Estimates the gradient. Cost: `samples` forward and backward passes per row."""
        points = pi.draw(self._random, self._samples, budget=self._budget, purse=self._purse)
        layout, valid = pi.candidates.layout, pi.candidates.valid
        total, largest = torch.zeros_like(pi.log_pi), torch.zeros_like(pi.log_pi[:, 0])
        for some in points.split(self._at_once, 1):
            count = some.shape[1]
            copies = self._copies if count == self._at_once else self._copies_of(count)
            owner, slots = all_points(some)
            loss, gradient = copies.gradient(slots)
            # Only the margin says by its sign whether the goal is met.
            if copies.objective == "margin":
                real = self._writable(copies, slots)
                self._best.offer(self._rows[owner[real]], slots[real], loss[real], loss[real] > 0)
            # One after the other: the sum must not depend on how many fit into memory.
            for sample, point in zip(gradient.unflatten(0, (-1, count)).unbind(1), some.unbind(1), strict=True):
                present = sample.gather(1, layout.starts + point)
                total += sample
                largest += (sample - layout.spread(present)).masked_fill(~valid, -torch.inf).amax(1)
        if self._copies.objective == "margin":
            self._visited.add(self._rows, self._visited.keys(points))
        return Estimate(total / self._samples, largest / self._samples)

    @staticmethod
    def _writable(copies: Problem, slots: PointSlots) -> Int64[Tensor, "some"] | slice:
        """The points that can be written: all, unless a computed column has no such value."""
        if not copies.candidates.computed_columns:
            return slice(None)
        return copies.candidates.writable(torch.arange(len(slots), device=slots.device), slots).nonzero()[:, 0]

    def _copies_of(self, count: int) -> Problem:
        """The problem with every row `count` times."""
        every = torch.arange(len(self._copies), device=self._rows.device).unflatten(0, (-1, self._at_once))
        return self._copies.take(every[:, :count].flatten())
