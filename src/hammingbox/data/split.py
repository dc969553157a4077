"""A fixed division of rows in which equal rows never stand on two sides."""

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor

from hammingbox.data.schema import Dataset, Splits
from hammingbox.errors import InputError
from hammingbox.seeding import torch_generator
from hammingbox.types import RowFloat, RowInt

SHARES = (0.7, 0.1)
"""Train and validation share of the distinct rows; the rest is the test set."""


def distinct_rows(ids: Integer[Tensor, "batch features"]) -> RowInt:
    """Numbers rows so that equal rows have equal numbers: 0.. in the order of their ids.

    As ``torch.unique(ids, dim=0, return_inverse=True)[1]``, but sorted as strings of bytes, which is many times
    faster for long rows.
    """
    # Big-endian, so that the order of bytes is the order of ids.
    rows = np.ascontiguousarray(ids.cpu().numpy(), dtype=np.uint8 if ids.dtype == torch.uint8 else ">u4")
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    return torch.from_numpy(np.unique(keys, return_inverse=True)[1].astype(np.int64))


def deal(ids: Integer[Tensor, "batch features"], *, seed: int = 0) -> RowFloat:
    """A random place in [0, 1) for every row, the same for equal rows: cut it anywhere to divide them."""
    number = distinct_rows(ids)
    count = int(number.max()) + 1 if len(ids) else 0
    return torch.randperm(count, generator=torch_generator(seed))[number] / max(1, count)


def divide(data: Dataset, *, shares: tuple[float, float] = SHARES, seed: int = 0) -> Splits:
    """Divides rows at random; distinct rows, not rows, are dealt out, so that no test row was trained on.

    Args:
        data: all rows.
        shares: of the distinct rows, for training and for validation.
        seed: of the division.

    Raises:
        InputError: too few distinct rows for three parts.
    """
    # Files are often sorted by class: rows in the order of their place make any first part a fair sample.
    place, order = deal(data.ids, seed=seed).sort(stable=True)
    train, validation = place < shares[0], (place >= shares[0]) & (place < sum(shares))
    test = ~train & ~validation
    if not (train.any() and validation.any() and test.any()):
        raise InputError(
            f"expected enough distinct rows in {data.name} for training, validation and test, "
            f"got {len(place.unique())}. Bring at least 20."
        )
    return Splits(data.take(order[train]), data.take(order[validation]), data.take(order[test]))
