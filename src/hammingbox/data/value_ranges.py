"""Numbers and dates in ranges: two amounts that differ by a cent are the same for whoever asks what occurs together."""

from math import isqrt

import numpy as np
from jaxtyping import Int64

from hammingbox.data.schema import Feature

_MOST, _FEWEST = 32, 4
_ROWS_PER_PAIR = 5


def number_of_ranges(rows: int) -> int:
    """How many ranges a column gets: so many that every pair of ranges of two columns would have some five rows."""
    return max(_FEWEST, min(_MOST, isqrt(rows // _ROWS_PER_PAIR)))


def range_edges(feature: Feature, ids: Int64[np.ndarray, "rows"], most: int) -> tuple[float, ...]:
    """Where the ranges of a column begin, but for the first one; none where each value stands for itself.

    Ranges hold about the same number of rows each. A column with at most so many values, or of categories, has none.

    Args:
        feature: the column.
        ids: its values in some rows.
        most: the largest number of ranges.
    """
    if not feature.is_ordered or len(np.unique(ids)) <= most:
        return ()
    numbers = feature.numbers[ids]
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return ()
    return tuple(np.unique(np.quantile(known, np.linspace(0, 1, most + 1)[1:-1])).tolist())


def range_codes(feature: Feature, edges: tuple[float, ...]) -> Int64[np.ndarray, "categories"]:
    """The range of every value of a column; what is no number, such as <missing>, is a range of its own.

    Without edges the code of a value is its id.
    """
    if not edges:
        return np.arange(len(feature.categories))
    numbers = feature.numbers
    nothing = np.isnan(numbers)
    codes = np.searchsorted(np.array(edges), np.where(nothing, 0.0, numbers), side="right")
    return np.where(nothing, len(edges) + np.cumsum(nothing), codes)
