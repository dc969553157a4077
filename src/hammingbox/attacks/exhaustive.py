"""Enumeration of every row within the budget: the limit no attack can beat."""

from dataclasses import dataclass
from itertools import combinations

import torch

from hammingbox.attacks.base import Attack, Incumbent, refuse_above
from hammingbox.attacks.enumerate import mixed_radix
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import Slots


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Attack):
    """Tries every row of S(x) within the budget and keeps the one with the largest loss.

    Cost: sum over k <= epsilon of the k-th elementary symmetric polynomial of (d_i - 1) forward passes,
    C(n, epsilon) (d - 1)^epsilon at its largest term.

    Attributes:
        max_passes: refuses rows that would need more forward passes than this.
    """

    max_passes: int = 100_000

    def run(self, problem: Problem, random: RowRandom) -> Slots:  # noqa: ARG002
        """Enumerates distance 1, then 2, up to the budget."""
        passes = int(self.passes(problem).max())
        refuse_above(self.max_passes, passes, "exhaustive search", "max_passes")
        best = Incumbent(problem)
        features = best.slots.shape[1]
        choices = problem.candidates.counts - 1
        chunk = next(problem.micro_batches(1)).stop
        for distance in range(1, problem.budget + 1):
            subsets = torch.tensor(list(combinations(range(features), distance)), device=choices.device)
            # One item per (row, subset of features) whose features can all change.
            able = (choices > 0)[:, subsets].all(2).nonzero()
            for item, digits in mixed_radix(choices[able[:, :1], subsets[able[:, 1]]], chunk):
                rows, chosen = able[item, 0], subsets[able[item, 1]]
                slot = problem.candidates.nth_valid(rows[:, None].expand_as(chosen), chosen, digits + 1)
                slots = torch.zeros(len(rows), features, dtype=torch.int64, device=rows.device).scatter_(
                    1, chosen, slot
                )
                best.offer(rows, slots, *problem.score(rows, slots))
        return best.slots

    @staticmethod
    def passes(problem: Problem) -> torch.Tensor:
        """Forward passes each row needs, by the elementary symmetric polynomials of its numbers of choices."""
        choices = (problem.candidates.counts - 1).double()
        by_distance = torch.zeros(len(choices), problem.budget + 1, dtype=torch.float64, device=choices.device)
        by_distance[:, 0] = 1
        for feature in choices.unbind(1):
            by_distance[:, 1:] += by_distance[:, :-1] * feature[:, None]
        return by_distance.sum(1)
