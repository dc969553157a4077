"""How many points each row can afford."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from hammingbox.attacks._search.combinations import points_within
from hammingbox.problem import Problem
from hammingbox.types import RowFloat

_MOST_TICKS = 2**44
_MOST_SUMS = 2**18
"""Different (changes, ticks) sums that are kept; with more, the points are not counted."""


def affordable_points(problem: Problem, rows: Shaped[Tensor, "some"]) -> RowFloat:
    """The number of points within budget and purse of some rows, the clean one included.

    Returns:
        float64. Infinity where the number overflows, where prices are too varied to be summed up, and where some joint
        assignments are not among the options: nobody can have tried those.
    """
    part = problem.take(rows)
    if part.purse is None:
        return points_within(part.candidates.counts, part.budget)
    return torch.tensor([_count(part, row) for row in range(len(part))], dtype=torch.float64, device=rows.device)


def _count(problem: Problem, row: int) -> float:
    """Adds features one by one: how many points have each sum of changed features, changed columns and ticks.

    Example: features with the prices {1, 2} and {2} have, within 3 ticks, the sums 0, 1, 2, 2 and 3: five points.
    """
    candidates = problem.candidates
    if problem.purse is None or candidates.tolls is None or not bool(candidates.is_whole[row]):
        return float("inf")
    purse = problem.purse[row].cpu().numpy()
    moves = candidates.moves[row]
    tolls = candidates.tolls[row][moves].cpu().numpy()
    owner = candidates.layout.feature_of[moves].cpu().numpy()
    limit = np.array([problem.budget, min(purse[0], 2**20), min(purse[1], _MOST_TICKS)])
    if purse[1] > _MOST_TICKS and tolls[:, 1].sum() > _MOST_TICKS:
        return float("inf")
    sums: Any = np.zeros((1, 3), dtype=np.int64)
    counts: Any = np.ones(1)
    for feature in np.unique(owner):
        prices, times = np.unique(tolls[owner == feature], axis=0, return_counts=True)
        step = np.concatenate([np.ones((len(prices), 1), dtype=np.int64), prices], 1)
        more = (sums[:, None] + step).reshape(-1, 3)
        ways = (counts[:, None] * times).reshape(-1)
        within = (more <= limit).all(1)
        sums, where = np.unique(np.concatenate([sums, more[within]]), axis=0, return_inverse=True)
        counts = np.bincount(where.reshape(-1), weights=np.concatenate([counts, ways[within]]), minlength=len(sums))
        if len(sums) > _MOST_SUMS:
            return float("inf")
    return float(counts.sum())
