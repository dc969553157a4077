"""How the rows of a user's table are split: at random, by time, by group, or with equal shares of each class."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.columns import Column, Columns
from hammingbox.data.values import numbers_of
from hammingbox.errors import InputError
from hammingbox.seeding import torch_generator
from hammingbox.types import Labels, RowFloat, RowInt

Places = Int64[Tensor, "_"]
"""Places of rows; parts differ in length."""
PARTS = ("train", "validation", "test")
SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}


@dataclass(frozen=True)
class SplitRule:
    """What decides the part of a row. Without any of these it is chance, and equal rows stay together.

    Attributes:
        time: a column of dates or numbers: the oldest rows are for training, the newest for the test. Rows of one time
            stay together.
        group: a column whose equal values stay together, such as a customer.
        stratified: give each part the same share of every class.

    Raises:
        InputError: more than one of them.
    """

    time: str | None = None
    group: str | None = None
    stratified: bool = False

    def __post_init__(self) -> None:
        if sum((self.time is not None, self.group is not None, self.stratified)) > 1:
            raise InputError("expected one of --time, --group and --stratified, got several. Choose one.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that decide the split. They are no features, unless a schema says so."""
        return tuple(name for name in (self.time, self.group) if name is not None)

    def positions(self, table: Columns, rows: RowInt, labels: Labels, *, seed: int = 0) -> RowFloat:
        """A number in [0, 1) for each row; thresholds on it cut the rows into parts.

        Args:
            table: the rows.
            rows: equal numbers for equal rows, counted from 0.
            labels: class ids.
            seed: of what is left to chance.

        Raises:
            InputError: there is no such column, or its values have no order.
        """
        if self.time is not None:
            column = table.column(self.time, kind="time column")
            return _middle(_ranks(column, table.source))
        if self.group is not None:
            codes = torch.from_numpy(table.column(self.group, kind="group column").codes.astype(np.int64))
            return _middle(_shuffled(codes, seed))
        order = _shuffled(rows, seed)
        if not self.stratified:
            return order / max(1, int(order.max()) + 1)
        return _within_classes(order, labels)


def assigned(position: RowFloat, parts: tuple[str, ...], name: str, *, seed: int = 0) -> dict[str, Places]:
    """The rows of each part. They are shuffled, so the first rows of a part are a fair sample.

    Args:
        position: of each row, in [0, 1).
        parts: the parts to cut, in the order of positions.
        name: of the data, for messages.
        seed: of the order.

    Raises:
        InputError: a part would be empty.
    """
    shares = np.cumsum([SHARES[part] for part in parts])
    edges = torch.tensor(shares[:-1] / shares[-1], dtype=position.dtype, device=position.device)
    number = torch.bucketize(position, edges, right=True)
    order = torch.randperm(len(position), generator=torch_generator(seed), device="cpu")
    found = {part: order[number[order] == i] for i, part in enumerate(parts)}
    for part, rows in found.items():
        if len(rows) == 0:
            raise InputError(
                f"expected enough distinct rows, times or groups in {name} for {', '.join(parts)}, "
                f"got {len(position.unique())}, none of which is for {part}. Provide at least 20, or split it yourself."
            )
    return found


def _ranks(column: Column, source: str) -> RowInt:
    """The rank of each row's time among the distinct times."""
    for kind in ("date", "number"):
        numbers = numbers_of(column.values, kind)
        if not np.isnan(numbers).any():
            return torch.from_numpy(np.unique(numbers, return_inverse=True)[1].astype(np.int64)[column.codes])
    dates, plain = (np.isnan(numbers_of(column.values, kind)) for kind in ("date", "number"))
    value = column.values[int(np.argmax(dates if dates.sum() <= plain.sum() else plain))]
    raise InputError(
        f"expected dates (2013-01-25, 2013-01-25 10:00:00) or numbers in the time column {column.name!r} of {source}, "
        f"got {repr(value) if value else 'an empty cell'} in row {column.first_row(value)}. Fill or rewrite it."
    )


def _middle(ranks: RowInt) -> RowFloat:
    """Where the middle row of each rank lies among all rows: rows of one rank stay together."""
    counts = torch.bincount(ranks)
    return ((torch.cumsum(counts, 0) - counts / 2) / len(ranks))[ranks]


def _shuffled(numbers: RowInt, seed: int) -> RowInt:
    """Gives numbers 0, 1, ... other numbers at random; equal ones stay equal."""
    count = int(numbers.max()) + 1
    return torch.randperm(count, generator=torch_generator(seed), device="cpu")[numbers]


def _within_classes(order: RowInt, labels: Labels) -> RowFloat:
    """The place of each row among those of its class; equal rows of two classes go with the first of them."""
    first = torch.full((int(order.max()) + 1,), len(labels), dtype=torch.int64, device="cpu")
    first.scatter_reduce_(0, order, torch.arange(len(labels), device="cpu"), "amin")
    of_number = labels.long()[first]
    position = torch.empty(len(of_number), dtype=torch.float64, device="cpu")
    for label in of_number.unique():
        chosen = (of_number == label).nonzero()[:, 0]
        position[chosen] = (torch.arange(len(chosen), dtype=torch.float64, device="cpu") + 0.5) / len(chosen)
    return position.to(torch.float32)[order]
