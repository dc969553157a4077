"""How many points each row can afford."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from hammingbox.attacks._search.combinations import points_within
from hammingbox.attacks._search.cost_order import points_by_cost
from hammingbox.attacks._search.knapsack import tolls_of
from hammingbox.problem import Problem
from hammingbox.types import RowFloat

_MOST_TICKS = 2**44
_MOST_SUMS = 2**18
"""Different (changes, ticks) sums that are kept; with more, the points are not counted."""
_DENSE_STATES = 2**12
"""Sums that are kept for all rows at once, as a table."""
_CELLS_AT_ONCE = 2**22
_MOST_WRITTEN = 2**17
"""Points that are written out to see which of them have values for the computed columns."""


def affordable_points(problem: Problem, rows: Shaped[Tensor, "some"]) -> RowFloat:
    """The number of points within budget and purse of some rows, the clean one included.

    Returns:
        float64. Infinity where the number overflows, where prices are too varied to be summed up, and where some joint
        assignments are not among the options: nobody can have tried those. Where columns are computed from others, a
        point counts if its values exist; an upper bound if there are too many to look.
    """
    part = problem.take(rows)
    if len(rows) == 0:
        return torch.zeros(0, dtype=torch.float64, device=rows.device)
    if part.purse is None:
        return points_within(part.candidates.counts, part.budget)
    limits, tolls = _limits(part), _whole_tolls(part)
    states = int((limits.amax(0).double() + 1).prod().clamp(max=2.0**60)) if len(part) else 1
    if states <= _DENSE_STATES:
        at_once = max(1, _CELLS_AT_ONCE // states)
        every = torch.arange(len(part), device=rows.device).split(at_once)
        parts = [_dense(part.take(some), limits[some], tolls[some]) for some in every]
        counts = torch.cat([torch.zeros(0, dtype=torch.float64, device=rows.device), *parts])
    else:
        found = [_sparse(part, row, limits[row]) for row in range(len(part))]
        counts = torch.tensor(found, dtype=torch.float64, device=rows.device)
    counts = counts.masked_fill(~part.candidates.is_whole, torch.inf)
    if part.candidates.computed_columns:
        few = (counts <= _MOST_WRITTEN).nonzero()[:, 0]
        for row in few:
            owner, slots, _ = points_by_cost(part, row[None])
            counts[row] = 1 + part.take(row[None]).candidates.writable(owner, slots.long()).sum()
    return counts


def _whole_tolls(problem: Problem) -> Int64[Tensor, "batch options 3"]:
    """Changed features, changed columns and ticks of each option."""
    tolls, layout = tolls_of(problem.candidates), problem.candidates.layout
    return torch.cat([(layout.slot_of != 0).long().expand(len(tolls), -1)[..., None], tolls], 2)


def _limits(problem: Problem) -> Int64[Tensor, "batch 3"]:
    """The most changed features, changed columns and ticks of each row; 0 for what cannot be exceeded.

    What is 0 here is not counted: fewer different sums have to be kept.
    """
    purse = problem.known_purse
    layout, moves = problem.candidates.layout, problem.candidates.moves
    dear = _whole_tolls(problem) * moves[..., None]
    most = torch.stack([layout.reduce(kind, lambda r: r.amax(-1)).sum(1) for kind in dear.unbind(2)], 1)
    limits = torch.cat([torch.full_like(purse[:, :1], problem.budget), purse], 1)
    binding = (limits < most).any(0)  # a limit that no row can exceed need not be counted
    return limits.minimum(most).clamp(max=_MOST_TICKS) * binding


def _dense(problem: Problem, limits: Int64[Tensor, "batch 3"], tolls: Int64[Tensor, "batch options 3"]) -> RowFloat:
    """Adds features one by one, for all rows: how many points have each sum of changed features, columns and ticks.

    Example: features with the prices {1, 2} and {2} have, within 3 ticks, the sums 0, 1, 2, 2 and 3: five points.
    """
    candidates, layout, device = problem.candidates, problem.candidates.layout, limits.device
    shape = [int(most) + 1 for most in limits.amax(0)]
    sums = torch.cartesian_prod(*(torch.arange(size, device=device) for size in shape)).view(-1, 3)
    weight = torch.tensor([shape[1] * shape[2], shape[2], 1], device=device)
    counted = (limits.amax(0) > 0).long()
    counts = torch.zeros(len(problem), len(sums), dtype=torch.float64, device=device)
    counts[:, 0] = 1
    for feature in range(layout.features):
        start, width = int(layout.starts[feature]), int(layout.widths[feature])
        moves = candidates.moves[:, start : start + width]
        if not bool(moves.any()):
            continue
        price = tolls[:, start : start + width] * counted
        kinds, kind = torch.unique(price[moves], dim=0, return_inverse=True)
        owner = moves.nonzero()[:, 0]
        times = torch.zeros(len(problem), len(kinds), dtype=torch.float64, device=device)
        times.index_put_((owner, kind), torch.ones_like(owner, dtype=torch.float64), accumulate=True)
        before, counts = counts, counts.clone()
        for number, toll in enumerate(kinds):
            reached = (sums >= toll).all(1)
            source = ((sums - toll) * weight).sum(1).clamp(min=0)
            counts += before[:, source] * reached * times[:, number, None]
    within = (sums[None] <= limits[:, None]).all(2)
    return (counts * within).sum(1)


def _sparse(problem: Problem, row: int, limits: Int64[Tensor, "3"]) -> float:
    """The same for one row, keeping only sums that occur."""
    candidates = problem.candidates
    moves = candidates.moves[row]
    limit = limits.cpu().numpy()
    tolls = _whole_tolls(problem)[row][moves].cpu().numpy() * (limit > 0)
    owner = candidates.layout.feature_of[moves].cpu().numpy()
    sums: Any = np.zeros((1, 3), dtype=np.int64)
    counts: Any = np.ones(1)
    for feature in np.unique(owner):
        prices, times = np.unique(tolls[owner == feature], axis=0, return_counts=True)
        more = (sums[:, None] + prices).reshape(-1, 3)
        ways = (counts[:, None] * times).reshape(-1)
        within = (more <= limit).all(1)
        sums, where = np.unique(np.concatenate([sums, more[within]]), axis=0, return_inverse=True)
        counts = np.bincount(where.reshape(-1), weights=np.concatenate([counts, ways[within]]), minlength=len(sums))
        if len(sums) > _MOST_SUMS:
            return float("inf")
    return float(counts.sum())
