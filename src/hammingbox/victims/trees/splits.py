"""The two kinds of splits: a threshold on a number, and a set of categories, each with its library's exact rule."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool

from hammingbox.victims.trees.columns import Values

Side = Bool[np.ndarray, "values"]
"""For each value of a column, whether it goes to the left child."""

_LIGHTGBM_ZERO = 1e-35
"""LightGBM takes smaller numbers for zero."""


@dataclass(frozen=True)
class Threshold:
    """Numbers below a threshold go left.

    Attributes:
        value: the threshold, exactly as the library compares with it.
        inclusive: a number equal to the threshold goes left too.
        single: the library rounds the number to float32 before it compares.
        missing_left: where a missing number goes.
        missing: what counts as missing: NaN, NaN and zero, or nothing (NaN then counts as zero).
    """

    value: float
    inclusive: bool
    single: bool
    missing_left: bool
    missing: Literal["nan", "zero", "nothing"] = "nan"

    def goes_left(self, values: Values) -> Side:
        """The side of each value of a column."""
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float32).astype(np.float64) if self.single else values
        absent = np.isnan(numbers)
        if self.missing == "zero":
            absent |= np.abs(numbers) <= _LIGHTGBM_ZERO
        elif self.missing == "nothing":
            numbers, absent = np.where(absent, 0.0, numbers), np.zeros_like(absent)
        below = numbers <= self.value if self.inclusive else numbers < self.value
        return np.where(absent, self.missing_left, below)


@dataclass(frozen=True)
class CategorySet:
    """Listed categories go to one side, all others to the other side.

    Attributes:
        listed: codes of categories.
        listed_left: the side of the listed categories.
        missing_left: where a missing cell goes.
        known: codes that the model has seen; any other one counts as missing. None: every code of 0 or more is known.
    """

    listed: frozenset[int]
    listed_left: bool
    missing_left: bool
    known: frozenset[int] | None = None

    def goes_left(self, values: Values) -> Side:
        """The side of each value of a column."""
        absent = np.isnan(values) | (values < 0)
        category = np.where(absent, -1, values).astype(np.int64)  # codes between integers are cut, as libraries do
        if self.known is not None:
            absent |= ~np.isin(category, list(self.known))
        left = np.isin(category, list(self.listed)) == self.listed_left
        return np.where(absent, self.missing_left, left)


Split = Threshold | CategorySet
