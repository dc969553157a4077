"""Draws from pi that no earlier draw has tried."""

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.attacks.distribution import Distribution
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots

_SPARE = 3
"""Rows drawn for each one that is kept. A draw costs little beside a pass of the victim."""


def new_draws(
    pi: Distribution, random: RowRandom, count: int, budget: int, visited: Visited, rows: Int64[Tensor, "batch"]
) -> ManySlots:
    """The mode of pi and draws from it that spend the whole budget; those that have not been tried come first.

    Always `count` rows: where too few are new, tried ones fill up, so that the cost is known beforehand.

    Args:
        pi: to draw from.
        random: one stream per row.
        count: draws per row.
        budget: number of changes.
        visited: the points tried before; those returned are added.
        rows: numbers of these rows in `visited`.
    """
    drawn = torch.cat([pi.mode(budget)[:, None], pi.draw(random, _SPARE * count, budget=budget, spend=True)], 1)
    keys = visited.keys(drawn)
    tried = visited.knows(rows, keys) | ~first_in_row(keys)
    chosen = tried.long().argsort(dim=1, stable=True)[:, :count]
    visited.add(rows, keys.gather(1, chosen))
    return drawn.gather(1, chosen[:, :, None].expand(-1, -1, drawn.shape[2]))
