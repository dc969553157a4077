"""Counting and enumerating the combinations of slots of rows whose features have different numbers of choices."""

from collections.abc import Iterator

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.types import RowFloat


def points_within(counts: Int64[Tensor, "batch features"], budget: int) -> RowFloat:
    """The number of points of each row within the budget, the clean row included.

    It is the sum over k <= budget of the k-th elementary symmetric polynomial of the numbers of changes, `counts` - 1:
    the changes of every set of k features, multiplied. Features with 1, 2 and 3 changes have, at budget 2,
    1 + (1 + 2 + 3) + (1 * 2 + 1 * 3 + 2 * 3) = 18 points.

    Args:
        counts: valid slots of each feature, the clean one included.
        budget: the largest number of changed features.

    Returns:
        float64; infinity where the number overflows.
    """
    choices = (counts - 1).double()
    by_distance = torch.zeros(len(choices), budget + 1, dtype=torch.float64, device=choices.device)
    by_distance[:, 0] = 1
    for feature in choices.unbind(1):
        # A feature without a change adds nothing, also where the number has overflowed (infinity times 0).
        by_distance[:, 1:] += (by_distance[:, :-1] * feature[:, None]).nan_to_num(nan=0.0, posinf=torch.inf)
    return by_distance.sum(1)


def mixed_radix(counts: Int64[Tensor, "items chosen"], chunk: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Counts through all combinations of digits of every item, one item after the other.

    Args:
        counts: how many values each digit of an item takes.
        chunk: how many combinations are returned at once.

    Yields:
        item: (points,) the item of each combination.
        digits: (points, chosen) the combination.
    """
    totals = counts.prod(1)
    ends = torch.cumsum(totals, 0)
    radix = torch.cumprod(counts, 1) // counts.clamp(min=1)  # weight of each digit; the first one is the fastest
    for start in range(0, int(ends[-1]) if len(ends) else 0, chunk):
        number = torch.arange(start, min(start + chunk, int(ends[-1])), device=counts.device)
        item = torch.searchsorted(ends, number, right=True)
        within = number - (ends - totals)[item]
        yield item, within[:, None] // radix[item] % counts[item]
