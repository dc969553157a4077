"""Which pairs of values occur together in some rows. Numbers and dates of many values are taken by range."""

from collections.abc import Iterator
from itertools import combinations

import torch
from jaxtyping import Int32, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.data.value_ranges import number_of_ranges, range_codes, range_edges
from hammingbox.types import Ids, RowInt, RowMask

_LARGEST_TABLE = 2**22
"""Cells of the table of a pair of columns; pairs with more are looked up among the sorted codes of the data."""


class SeenPairs:
    """The pairs of values that occur together in some rows.

    Tables of pairs are made one at a time and thrown away: all of them would not fit the memory.

    Args:
        schema: what the ids mean.
        ids: the rows.
    """

    def __init__(self, schema: Schema, ids: Ids) -> None:
        most = number_of_ranges(len(ids))
        self._codes: list[Int32[Tensor, "categories"]] = []
        self._known: list[Int32[Tensor, "rows"]] = []
        for column, feature in enumerate(schema.features):
            own = ids[:, column].cpu()
            codes = torch.from_numpy(range_codes(feature, range_edges(feature, own.numpy(), most))).int()
            self._codes.append(codes)
            self._known.append(codes[own])
        self._sizes = [int(codes.max()) + 1 for codes in self._codes]

    def unseen(self, x: Ids, written: Ids) -> RowInt:
        """How many pairs of values of each row never occur together, though each value occurs.

        Args:
            x: rows before.
            written: rows after; a pair counts if one of its values was written.
        """
        count = torch.zeros(len(x), dtype=torch.int64, device="cpu")
        changed, coded = x != written, self._coded(written)
        alone = [torch.isin(coded[:, i].int(), known) for i, known in enumerate(self._known)]
        for one, two in self._pairs():
            rows = ((changed[:, one] | changed[:, two]) & alone[one] & alone[two]).nonzero()[:, 0]
            if len(rows):
                count[rows] += (self._times(one, two, coded[rows]) == 0).long()
        return count

    def only_there(self, rows: RowInt) -> RowMask:
        """Which of the learned rows, named by their places, hold a pair of values that no other of them holds."""
        coded = torch.stack([known[rows].long() for known in self._known], 1)
        found = torch.zeros(len(rows), dtype=torch.bool, device="cpu")
        for one, two in self._pairs():
            found |= self._times(one, two, coded) == 1
        return found

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return combinations(range(len(self._codes)), 2)

    def _coded(self, ids: Ids) -> Int64[Tensor, "rows features"]:
        return torch.stack([codes[ids[:, i]].long() for i, codes in enumerate(self._codes)], 1)

    def _times(self, one: int, two: int, coded: Int64[Tensor, "rows features"]) -> Int64[Tensor, "rows"]:
        """How many of the learned rows hold a pair of values of each row."""
        width = self._sizes[two]
        known = self._known[one].long() * width + self._known[two]
        asked = coded[:, one] * width + coded[:, two]
        if self._sizes[one] * width <= _LARGEST_TABLE:
            return torch.bincount(known, minlength=self._sizes[one] * width)[asked]
        values, counts = known.unique(return_counts=True)
        place = torch.searchsorted(values, asked).clamp(max=len(values) - 1)
        return torch.where(values[place] == asked, counts[place], 0)
