"""What the columns of a model hold for each category of a feature.

A tree asks about columns: an ordinal code, one cell of a one-hot encoding, a number, a target encoding. As long as a
column depends on one feature only, it is a list of numbers over that feature's categories, and every split becomes a
set of categories. All encoders in common use are of this kind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError, VictimError

Values = Float64[np.ndarray, "..."]
"""The number that a column holds for each category of its feature; NaN where the cell is missing."""

Encoder = Callable[[Int64[np.ndarray, "rows features"]], Any]
"""Makes the matrix (rows, columns) that a model is given out of rows of ids."""

_CHECKED_ROWS = 256


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a model.

    Attributes:
        feature: the feature of the schema that it depends on.
        values: what it holds for each category of that feature.
    """

    feature: int
    values: Values


def codes(schema: Schema) -> tuple[Column, ...]:
    """One column per feature: the numbers of a number column, the id (0, 1, ...) of any other category."""
    return tuple(Column(i, _plain_values(feature)) for i, feature in enumerate(schema.features))


def one_hot(schema: Schema) -> tuple[Column, ...]:
    """One column per category, in the order of the schema: 1 where the row holds the category, 0 elsewhere."""
    return tuple(Column(i, row) for i, width in enumerate(schema.cardinalities) for row in np.eye(width))


def columns_of(
    schema: Schema, count: int, names: Sequence[str] = (), categories: Mapping[int, Sequence[Any]] | None = None
) -> tuple[Column, ...]:
    """The columns of a model, as far as what it remembers of its training tells.

    Args:
        schema: what the ids mean.
        count: how many columns the model has.
        names: their names. A column named like a feature holds its code (or its number); one named
            ``feature_category``, as pandas and scikit-learn name them, is a cell of a one-hot encoding.
        categories: for columns that the model knows as categories, their categories in the order of its codes. A
            category of the schema that is not among them is missing to the model.

    Raises:
        InputError: it does not tell.
    """
    found = _by_name(schema, names) if len(names) == count else None
    if found is None and count == len(schema.features):
        found = codes(schema)
    if found is None and count == sum(schema.cardinalities):
        found = one_hot(schema)
    if found is None:
        raise InputError(
            f"expected a model with {len(schema.features)} columns (one per feature) or {sum(schema.cardinalities)} "
            f"(one per category), got {count} with names that do not say what they hold. "
            "Pass columns=..., or encode=... with the function that encodes rows for the model."
        )
    listed = dict(categories or {})
    return tuple(
        Column(column.feature, coded(schema.features[column.feature], column.values, listed[i]))
        if i in listed
        else column
        for i, column in enumerate(found)
    )


def probed(schema: Schema, encode: Encoder) -> tuple[Column, ...]:
    """The columns that a function makes of rows, found by changing one feature at a time.

    Whether every column depends on one feature only is checked on 256 random rows.

    Args:
        schema: what the ids mean.
        encode: takes ids (rows, features), returns the matrix (rows, columns) that the model is given.

    Raises:
        VictimError: it does not return a matrix of numbers.
        InputError: a column depends on several features.
    """
    widths = schema.cardinalities
    rows = np.zeros((1 + sum(widths), len(widths)), dtype=np.int64)
    owner = np.concatenate([[-1], np.repeat(np.arange(len(widths)), widths)])
    rows[np.arange(1, len(rows)), owner[1:]] = np.concatenate([np.arange(width) for width in widths])
    seen = _matrix(encode(rows.copy()), len(rows))
    varies = np.stack([~_equal(seen[owner == i], seen[0]).all(0) for i in range(len(widths))])
    several = np.flatnonzero(varies.sum(0) > 1)
    if len(several):
        raise InputError(
            f"expected columns that depend on one feature each, got column {several[0]}, which depends on several. "
            "Certify such a model by enumeration instead."
        )
    feature = varies.argmax(0)
    columns = tuple(Column(int(f), seen[owner == f, i]) for i, f in enumerate(feature))
    drawn = np.stack([np.random.default_rng(i).integers(0, d, _CHECKED_ROWS) for i, d in enumerate(widths)], 1)
    if not _equal(encoded(columns, drawn), _matrix(encode(drawn.copy()), len(drawn))).all():
        raise InputError(
            "expected columns that depend on one feature each, got one that depends on combinations of features. "
            "Certify such a model by enumeration instead."
        )
    return columns


def encoded(columns: Sequence[Column], ids: Int64[np.ndarray, "rows features"]) -> Values:
    """The matrix (rows, columns) that a model is given for rows of ids."""
    return np.stack([column.values[ids[:, column.feature]] for column in columns], axis=1)


def _plain_values(feature: Feature) -> Values:
    if feature.is_ordered:
        return np.asarray(feature.numbers, dtype=np.float64)
    return np.arange(len(feature.categories), dtype=np.float64)


def coded(feature: Feature, values: Values, categories: Sequence[Any]) -> Values:
    """The model's code of each category of the schema; what the model has not seen is missing to it.

    A model that was trained on texts knows them as texts. One that knows numbers was trained on ids, unless all of its
    numbers are texts of the schema.
    """
    place = {str(category): float(code) for code, category in enumerate(categories)}
    if any(isinstance(category, str) for category in categories) or set(place) <= set(feature.categories):
        return np.array([place.get(category, np.nan) for category in feature.categories])
    numbers = {float(c): float(i) for i, c in enumerate(categories) if isinstance(c, int | float | np.number)}
    return np.array([numbers.get(float(value), np.nan) for value in values])


def _by_name(schema: Schema, names: Sequence[str]) -> tuple[Column, ...] | None:
    """Columns whose names say what they hold; None if one of them does not."""
    known = {feature.name: column for feature, column in zip(schema.features, codes(schema), strict=True)}
    for i, feature in enumerate(schema.features):
        for category, row in zip(feature.categories, np.eye(len(feature.categories)), strict=True):
            name = f"{feature.name}_{category}"
            if name in known and name in names:
                return None  # two features could be meant
            known[name] = Column(i, row)
    return tuple(known[name] for name in names) if all(name in known for name in names) else None


def _matrix(returned: Any, rows: int) -> Values:
    """What an encoder returned, as a matrix of numbers.

    Raises:
        VictimError: it is none.
    """
    dense = returned.toarray() if hasattr(returned, "toarray") else returned
    try:
        matrix = np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise VictimError(f"expected encode to return a matrix of numbers, got {type(returned).__name__}.") from error
    if matrix.ndim != 2 or len(matrix) != rows:
        raise VictimError(f"expected encode to return ({rows}, columns), got shape {matrix.shape}.")
    return matrix


def _equal(a: Values, b: Values) -> Bool[np.ndarray, "..."]:
    return (a == b) | (np.isnan(a) & np.isnan(b))
