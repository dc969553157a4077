"""Ragged enumeration: every combination of slots, in chunks, when rows have different numbers of choices."""

from collections.abc import Iterator

import torch
from jaxtyping import Int64
from torch import Tensor


def mixed_radix(counts: Int64[Tensor, "items chosen"], chunk: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Counts through the product of `counts` for every item, one item after the other.

    Args:
        counts: how many values each digit of an item takes.
        chunk: how many combinations are given at once.

    Yields:
        item: (points,) the item each combination belongs to.
        digits: (points, chosen) the combination.
    """
    totals = counts.prod(1)
    ends = torch.cumsum(totals, 0)
    radix = torch.cumprod(counts, 1) // counts.clamp(min=1)  # weight of each digit, the first one fastest
    for start in range(0, int(ends[-1]) if len(ends) else 0, chunk):
        number = torch.arange(start, min(start + chunk, int(ends[-1])), device=counts.device)
        item = torch.searchsorted(ends, number, right=True)
        within = number - (ends - totals)[item]
        yield item, within[:, None] // radix[item] % counts[item]
