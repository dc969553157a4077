"""Beam search: partial rows that grow by one change per round, the best few of each row kept."""

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent, best_points
from hammingbox.attacks._search.knapsack import affordable_moves
from hammingbox.attacks._search.points import moved, try_moves
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem, place_in_row
from hammingbox.types import OptionMask, PointRows, PointSlots, RowInt


def beam_search(problem: Problem, best: Incumbent, allowed: OptionMask, beam: int) -> None:
    """Adds allowed changes to the `beam` best partial rows of every open row, one change per round.

    Cost: see `beam_search_passes`.
    """
    layout = problem.candidates.layout
    rows = best.open_rows()
    beams = problem.clean_slots[rows]  # one partial row per row, up to `beam` of them after the first round
    for _ in range(problem.budget):
        if len(rows) == 0:
            break
        part = problem.take(rows)
        moves = allowed[rows] & layout.spread(beams == 0)
        if part.purse is not None:
            moves &= affordable_moves(part, beams)
        loss, fooled = try_moves(part, beams, moves)
        # Each partial row offers its best extension; one that meets the goal comes before all others.
        parent, option = moves.nonzero().unbind(1)
        reached = loss.masked_fill(fooled.any(1, keepdim=True) & ~fooled, -torch.inf)[parent, option]
        points, who = best_points(parent, reached, len(rows))
        option = option[points]
        best.offer(rows[who], moved(part, beams[who], option), loss[who, option], fooled[who, option])
        rows, beams = best_extensions(problem, rows, beams, loss, beam)
        is_open = torch.isin(rows, best.open_rows())
        rows, beams = rows[is_open], beams[is_open]


def beam_search_passes(problem: Problem, allowed: RowInt, beam: int) -> Passes:
    """The most passes per row of `beam_search` with so many allowed changes m: m + (epsilon - 1) beam m."""
    return Passes.of(problem, allowed * (1 + (problem.budget - 1) * beam))


def best_extensions(
    problem: Problem, rows: PointRows, beams: PointSlots, value: Float[Tensor, "points options"], width: int
) -> tuple[Int64[Tensor, "found"], Int64[Tensor, "found features"]]:
    """The `width` most valuable distinct extensions of each row's partial rows, as a ragged list.

    Args:
        problem: of the whole batch.
        rows: the row that each partial row belongs to.
        beams: the partial rows.
        value: of taking each option next; minus infinity where it may not be taken.
        width: how many partial rows of each row are kept.
    """
    value, options = value.topk(min(width, value.shape[1]), dim=1)
    parents = torch.arange(len(rows), device=rows.device).repeat_interleave(value.shape[1])
    value, options = value.flatten(), options.flatten()
    real = value > -torch.inf
    parents, value, options = parents[real], value[real], options[real]
    slots, owner = moved(problem, beams[parents], options), rows[parents]
    # Best first within each row. A set of changes that was reached in two orders is kept once.
    order = torch.argsort(value, descending=True, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    slots, owner = slots[order], owner[order]
    keep = _first_of_each(torch.cat([owner[:, None], slots], 1))
    slots, owner = slots[keep], owner[keep]
    kept = place_in_row(owner) < width
    return owner[kept], slots[kept]


def _first_of_each(points: Shaped[Tensor, "points numbers"]) -> Int64[Tensor, "distinct"]:
    """Numbers of the first occurrence of every distinct point, in order."""
    _, group = torch.unique(points, dim=0, return_inverse=True)
    first = torch.full((int(group.max()) + 1 if len(group) else 0,), len(points), device=points.device)
    return first.scatter_reduce_(0, group, torch.arange(len(points), device=points.device), "amin").sort().values
