"""A fixed split of rows that never puts equal rows into different parts."""

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.errors import InputError
from hammingbox.seeding import torch_generator
from hammingbox.types import RowFloat, RowInt

SHARES = (0.7, 0.1)
"""Training and validation share of the distinct rows; the rest is the test set."""


def distinct_rows(ids: Integer[Tensor, "batch features"]) -> RowInt:
    """Numbers the distinct rows 0, 1, ... in lexicographic order; equal rows have equal numbers.

    The same as ``torch.unique(ids, dim=0, return_inverse=True)[1]``, but rows are sorted as byte strings, which is
    many times faster for long rows.
    """
    # Big-endian, so that byte strings sort like ids.
    rows = np.ascontiguousarray(ids.cpu().numpy(), dtype=np.uint8 if ids.dtype == torch.uint8 else ">u4")
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    return torch.from_numpy(np.unique(keys, return_inverse=True)[1].astype(np.int64)).to(ids.device)


def random_positions(ids: Integer[Tensor, "batch features"], *, seed: int = 0) -> RowFloat:
    """A random number in [0, 1) for each row, equal for equal rows; a threshold on it splits the rows."""
    number = distinct_rows(ids)
    count = int(number.max()) + 1 if len(ids) else 0
    # Drawn on the CPU, so that the split does not depend on the device.
    order = torch.randperm(count, generator=torch_generator(seed), device="cpu").to(ids.device)
    return order[number] / max(1, count)


def divide(data: Dataset, *, shares: tuple[float, float] = SHARES, seed: int = 0) -> Splits:
    """Splits rows at random. Equal rows go into the same part, so that no test row is also a training row.

    Args:
        data: all rows.
        shares: of the distinct rows, for training and for validation.
        seed: of the split.

    Raises:
        InputError: too few distinct rows for three parts.
    """
    # Files are often sorted by class. Rows are put in random order, so that the first n rows are a fair sample.
    position, order = random_positions(data.ids, seed=seed).sort(stable=True)
    train, validation = position < shares[0], (position >= shares[0]) & (position < sum(shares))
    test = ~train & ~validation
    if not (train.any() and validation.any() and test.any()):
        raise InputError(
            f"expected enough distinct rows in {data.name} for training, validation and test, "
            f"got {len(position.unique())}. Provide at least 20."
        )
    return Splits(data.take(order[train]), data.take(order[validation]), data.take(order[test]))
