"""HotFlip (Ebrahimi et al. 2018): flips chosen by first-order gain, greedily or with a beam."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.beam import best_extensions
from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import affordable_moves
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom


@dataclass(frozen=True, kw_only=True)
class HotFlip(Search):
    """Takes epsilon flips, each the one with the largest first-order gain at the current row.

    With a beam, the `beam` best partial rows, by loss plus first-order gain, continue together. A row leaves as soon as
    it is broken. Where changes have prices, only flips that can still be paid are ranked.

    Cost: at most 1 + (epsilon - 1) beam forward and backward passes per row for gradients, and 1 + epsilon beam forward
    passes for the clean row and the flipped ones.

    Attributes:
        beam: how many partial rows continue; 1 is the greedy form.
    """

    needs_gradient: ClassVar[bool] = True

    beam: int = 1

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:  # noqa: ARG002
        """One flip after the other."""
        layout = problem.candidates.layout
        rows = best.open_rows()
        beams = problem.clean_slots[rows]  # one partial row per row, up to `beam` of them after the first flip
        for _ in range(problem.budget):
            if len(rows) == 0:
                break
            part = problem.take(rows)
            loss, gain = first_order_gain(part, beams)
            untouched = layout.spread(beams == 0)
            able = part.candidates.moves & untouched
            if part.purse is not None:
                able &= affordable_moves(part, beams)
            expected = (loss[:, None] + gain).masked_fill(~able, -torch.inf)
            rows, beams = best_extensions(problem, rows, beams, expected, self.beam)
            best.offer(rows, beams, *problem.score(rows, beams))
            unbroken = ~best.fooled[rows]
            rows, beams = rows[unbroken], beams[unbroken]

    def search_passes(self, problem: Problem) -> Passes:
        """Gradients of one partial row, then of `beam`; losses of `beam` in each round."""
        gradients = 1 + (problem.budget - 1) * self.beam
        return Passes.of(problem, gradients + problem.budget * self.beam, gradients)
