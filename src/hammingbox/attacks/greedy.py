"""Greedy and beam search on true losses over all features."""

from dataclasses import dataclass

import torch

from hammingbox.attacks._search.incumbent import Incumbent, Search, best_points
from hammingbox.attacks._search.points import moved, try_moves
from hammingbox.attacks.hotflip import best_extensions
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionMask


@dataclass(frozen=True, kw_only=True)
class Greedy(Search):
    """Takes one change after the other, each the best of all changes of all untouched features.

    Unlike GA it chooses the feature anew at every step. With a beam, the `beam` best partial rows go on together. Rows
    that fall leave. Exact at budget 1.

    Cost: with m = sum (d_i - 1), at most 1 + m + (epsilon - 1) beam m forward passes.

    Attributes:
        beam: how many partial rows go on; 1 is the greedy form.
    """

    beam: int = 1

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:  # noqa: ARG002
        """One change after the other."""
        beam_search(problem, best, problem.candidates.moves, self.beam)


def beam_search(problem: Problem, best: Incumbent, allowed: OptionMask, beam: int) -> None:
    """Adds allowed changes one after the other to the `beam` best partial rows of every standing row.

    Cost: with m allowed options, at most m + (epsilon - 1) beam m forward passes.
    """
    layout = problem.candidates.layout
    rows = best.standing()
    beams = problem.clean_slots[rows]  # one partial row for each row, `beam` of them after the first change
    for _ in range(problem.budget):
        if len(rows) == 0:
            break
        part = problem.take(rows)
        moves = allowed[rows] & layout.spread(beams == 0)
        loss, fooled = try_moves(part, beams, moves)
        # Each partial row offers its best extension, one that meets the goal before all others.
        parent, option = moves.nonzero().unbind(1)
        reached = loss.masked_fill(fooled.any(1, keepdim=True) & ~fooled, -torch.inf)[parent, option]
        points, who = best_points(parent, reached, len(rows))
        option = option[points]
        best.offer(rows[who], moved(part, beams[who], option), loss[who, option], fooled[who, option])
        rows, beams = best_extensions(problem, rows, beams, loss, beam)
        standing = torch.isin(rows, best.standing())
        rows, beams = rows[standing], beams[standing]
