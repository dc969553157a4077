"""Turns the columns of a frame or an array into category ids, as a transformer of scikit-learn would."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int64

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError, did_you_mean

MISSING = "<missing>"
Unknown = Literal["error", "commonest"]
Values = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, cut into bins: any number has an id, also one that no training row had.

    Attributes:
        name: of the column.
        edges: where it is cut, increasing; a number at an edge belongs to the bin above.
    """

    name: str
    edges: Float[np.ndarray, "edges"]

    @staticmethod
    def of(name: str, values: Float[np.ndarray, "rows"], bins: int) -> "NumberColumn":
        """Cuts a column between its distinct numbers if they are few, and at its quantiles if they are many."""
        known = np.unique(values[~np.isnan(values)])
        if len(known) <= bins:
            return NumberColumn(name, (known[1:] + known[:-1]) / 2)
        edges = np.unique(np.quantile(values[~np.isnan(values)], np.linspace(0, 1, bins + 1)[1:-1], method="higher"))
        return NumberColumn(name, edges[edges > known[0]])

    @property
    def feature(self) -> Feature:
        """Its bins as categories, and `<missing>`."""
        ends = ["", *(f"{edge:.6g}" for edge in self.edges), ""]
        places = range(len(self.edges) + 1)
        # The number of a bin keeps names distinct where edges are equal in six digits.
        return Feature(self.name, (*(f"{p + 1}: [{ends[p]}, {ends[p + 1]})" for p in places), MISSING))

    def ids(self, values: Float[np.ndarray, "rows"]) -> Int64[np.ndarray, "rows"]:
        """The bin of each number."""
        found = np.searchsorted(self.edges, values, side="right")
        return np.where(np.isnan(values), len(self.edges) + 1, found).astype(np.int64)


@dataclass(frozen=True)
class CategoryColumn:
    """Texts, booleans or other values that are compared as they are.

    Attributes:
        name: of the column.
        categories: as text, the commonest first.
    """

    name: str
    categories: tuple[str, ...]

    @staticmethod
    def of(name: str, values: Iterable[Any]) -> "CategoryColumn":
        """The distinct values of a column, the commonest first; equally common ones in alphabetical order."""
        known, counts = np.unique([_text(value) for value in values], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return CategoryColumn(name, tuple(str(known[i]) for i in order if known[i] != MISSING) or (MISSING,))

    @property
    def feature(self) -> Feature:
        """Its categories, and `<missing>`."""
        return Feature(self.name, tuple(dict.fromkeys((*self.categories, MISSING))))

    def ids(self, values: Iterable[Any], unknown: Unknown) -> Int64[np.ndarray, "rows"]:
        """The category of each value.

        Raises:
            InputError: a value that no training row had, where that is an error.
        """
        place = {word: i for i, word in enumerate(self.feature.categories)}
        texts = [_text(value) for value in values]
        if unknown == "error" and (odd := next((text for text in texts if text not in place), None)) is not None:
            raise InputError(
                f"expected a category of column {self.name!r} that a training row had, got {odd[:80]!r}."
                f"{did_you_mean(odd, self.categories)} Fit on rows that have it, or set unknown='commonest'."
            )
        return np.array([place.get(text, 0) for text in texts], dtype=np.int64)


@dataclass(frozen=True)
class RowEncoder:
    """The columns of a table, in order."""

    columns: tuple[NumberColumn | CategoryColumn, ...]

    @staticmethod
    def of(names: Sequence[str], columns: Sequence[Values], bins: int) -> "RowEncoder":
        """Columns of numbers are cut into bins; all others are categories."""
        return RowEncoder(
            tuple(
                CategoryColumn.of(name, values.tolist())
                if (numbers := as_numbers(values)) is None
                else NumberColumn.of(name, numbers, bins)
                for name, values in zip(names, columns, strict=True)
            )
        )

    @property
    def features(self) -> tuple[Feature, ...]:
        """What the ids mean."""
        return tuple(column.feature for column in self.columns)

    def ids(self, columns: Sequence[Values], unknown: Unknown) -> Int64[np.ndarray, "rows features"]:
        """Rows of ids.

        Raises:
            InputError: a column of numbers has something else, or a category is unknown where that is an error.
        """
        return np.stack(
            [self._column_ids(known, values, unknown) for known, values in zip(self.columns, columns, strict=True)], 1
        )

    @staticmethod
    def _column_ids(
        column: NumberColumn | CategoryColumn, values: Values, unknown: Unknown
    ) -> Int64[np.ndarray, "rows"]:
        if isinstance(column, CategoryColumn):
            return column.ids(values.tolist(), unknown)
        numbers = as_numbers(values)
        if numbers is None:
            raise InputError(
                f"expected numbers in column {column.name!r}, as in the rows it was fitted on, got something else."
            )
        return column.ids(numbers)


def as_numbers(values: Values) -> Float[np.ndarray, "rows"] | None:
    """A column as numbers, NaN where missing; None if it holds anything else, such as texts or booleans."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    if values.dtype.kind != "O" or not all(_is_number(value) or _is_missing(value) for value in values):
        return None
    return np.array([np.nan if _is_missing(value) else float(value) for value in values], dtype=np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a missing value of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _text(value: Any) -> str:
    return MISSING if _is_missing(value) else str(value)
