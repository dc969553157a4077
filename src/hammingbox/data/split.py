"""A fixed split of rows that never puts equal rows into different parts."""

import math

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.mapped import BLOCK, forget_pages, is_mapped
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
    if is_mapped(ids):
        return _ranked_by_columns(ids)
    # Big-endian, so that byte strings sort like ids.
    rows = np.ascontiguousarray(ids.cpu().numpy(), dtype=np.uint8 if ids.dtype == torch.uint8 else ">u4")
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    return torch.from_numpy(np.unique(keys, return_inverse=True)[1].astype(np.int64)).to(ids.device)


def _ranked_by_columns(ids: Integer[Tensor, "batch features"]) -> RowInt:
    """The same with a few numbers per row in memory: rows are ranked by their first columns, then by the next ones."""
    rank, groups = np.zeros(len(ids), np.int64), 1
    feature = 0
    while feature < ids.shape[1] and groups < len(ids):
        # As many columns as fit into one number with the rank so far.
        first, sizes = feature, list[int]()
        while feature < ids.shape[1] and groups * math.prod(sizes) * (size := _size(ids[:, feature])) < 2**62:
            sizes.append(size)
            feature += 1
        for begin in range(0, len(ids), BLOCK):
            part = rank[begin : begin + BLOCK]
            for column, size in enumerate(sizes, first):
                part *= size
                part += ids[begin : begin + BLOCK, column].numpy()
            forget_pages(ids)
        found, rank = np.unique(rank, return_inverse=True)
        groups = len(found)
    return torch.from_numpy(rank)


def _size(column: Integer[Tensor, "batch"]) -> int:
    """The number of ids from 0 to the largest of a column."""
    largest = max(int(part.max()) for part in column.split(BLOCK))
    forget_pages(column)
    return largest + 1


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
    if is_mapped(data.ids):  # positions are sorted: the parts follow one another, and can share one file
        shuffled, first, last = data.take(order), int(train.sum()), len(order) - int(test.sum())
        parts = (shuffled.take(slice(0, first)), shuffled.take(slice(first, last)), shuffled.take(slice(last, None)))
        return Splits(*parts, ordered=data)
    return Splits(data.take(order[train]), data.take(order[validation]), data.take(order[test]))
