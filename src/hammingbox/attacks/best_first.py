"""Best-first search by gain per cost, the field's attack on tables with prices (Kireev et al. 2023)."""

from dataclasses import dataclass

import torch

from hammingbox.attacks._search.incumbent import Incumbent, best_points
from hammingbox.attacks._search.knapsack import affordable_moves, tolls_of
from hammingbox.attacks._search.points import moved, try_moves
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionFloat


@dataclass(frozen=True, kw_only=True)
class BestFirst(Search):
    """Takes one change after the other, each the one with the largest gain in loss per cost.

    This is the greedy form (a queue of one) of the best-first search of Kireev et al. (Adversarial Robustness for
    Tabular Data through Cost and Utility Awareness, NDSS 2023), and it is here to compare with. It never gives a change
    back, so it is blind at price steps: after cheap changes it can no longer pay for a dear one. Two things differ from
    the published search, both in its favour: the budget is inclusive, where the published rule leaves out rows that
    cost exactly the bound, and every row that is tried counts if it meets the goal, not only the one that is chosen. A
    free change counts as one tick. Without prices this is `greedy`. A row leaves as soon as it is broken.

    Cost: with m = sum (d_i - 1), at most 1 + epsilon m forward passes per row; with prices, epsilon is the number of
    features.
    """

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:  # noqa: ARG002
        """Adds the best change by gain per cost until a row is broken or can pay for nothing more."""
        layout = problem.candidates.layout
        rows = best.open_rows()
        here, reached = problem.clean_slots[rows], best.loss[rows]
        for _ in range(problem.budget):
            if len(rows) == 0:
                break
            part = problem.take(rows)
            moves = part.candidates.moves & layout.spread(here == 0)
            if part.purse is not None:
                moves &= affordable_moves(part, here)
            loss, fooled = try_moves(part, here, moves)
            worth = (loss - reached[:, None]) / _prices(part)
            worth = worth.masked_fill(fooled.any(1, keepdim=True) & ~fooled, -torch.inf)
            row, option = (loss > -torch.inf).nonzero().unbind(1)
            points, who = best_points(row, worth[row, option], len(rows))
            option = option[points]
            here, reached = moved(part, here[who], option), loss[who, option]
            best.offer(rows[who], here, reached, fooled[who, option])
            rows = rows[who]
            is_open = torch.isin(rows, best.open_rows())
            rows, here, reached = rows[is_open], here[is_open], reached[is_open]

    def search_passes(self, problem: Problem) -> Passes:
        """All changes in every step."""
        return Passes.of(problem, problem.candidates.moves.sum(1) * problem.budget)


def _prices(problem: Problem) -> OptionFloat:
    """What each option costs, at least 1; 1 without prices."""
    if problem.purse is None:
        return torch.ones(problem.candidates.valid.shape, device=problem.rows.device)
    return tolls_of(problem.candidates)[..., 1].clamp(min=1).float()
