"""A sample of the rows as arrays: ids, numbers, and which columns can be computed with."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float64, Int64

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.threat.rules.readings import is_numeric, reading

ROWS = 20_000
_FEWEST_NUMBERS = 3
"""Distinct numbers of a column that is compared with others; of two numbers, most are codes."""

IdColumn = Int64[np.ndarray, "rows"]
NumberColumn = Float64[np.ndarray, "rows"]
RowChoice = Bool[np.ndarray, "rows"]


@dataclass(frozen=True)
class Sample:
    """Rows that stand for the table: evenly spaced, so that a sorted file is seen from its start to its end.

    Attributes:
        schema: what the ids mean.
        ids: (rows, features).
        least: the share of the rows that must keep a rule.
    """

    schema: Schema
    ids: Int64[np.ndarray, "rows features"]
    least: float

    @staticmethod
    def of(data: Dataset, least: float) -> "Sample":
        """A sample of at most `ROWS` rows."""
        rows = np.unique(np.linspace(0, len(data) - 1, min(ROWS, len(data))).astype(np.int64))
        return Sample(data.schema, data.ids[rows].numpy().astype(np.int64), least)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def loose(self) -> float:
        """The share that a candidate must reach in the sample: below `least`, as a sample may differ from all rows."""
        return self.least - 3 * max(0.5 / len(self), (self.least * (1 - self.least) / len(self)) ** 0.5)

    @cached_property
    def numbers(self) -> dict[int, NumberColumn]:
        """The numbers of the columns that can be compared and added: no dates, no columns of two values."""
        return {
            c: self._read(c)
            for c, f in enumerate(self.schema.features)
            if f.kind in ("number", "category") and len(f.categories) >= _FEWEST_NUMBERS and is_numeric(f)
        }

    @cached_property
    def dates(self) -> dict[int, NumberColumn]:
        """Columns of dates, in seconds."""
        return {c: self._read(c) for c, f in enumerate(self.schema.features) if f.kind == "date"}

    def _read(self, column: int) -> NumberColumn:
        return reading(self.schema.features[column]).numpy()[self.ids[:, column]]


def shuffled(column: NumberColumn) -> NumberColumn:
    """The same values in other rows: what a pair would look like without a relation."""
    order = np.random.default_rng(0).permutation(len(column))
    return column[order]
