"""Infers the schema of a table from its values."""

import numpy as np

from hammingbox.data.columns import Column, Columns
from hammingbox.data.table_schema import ColumnRules, TableSchema, numbers_of
from hammingbox.errors import InputError

MAX_CLASSES = 1000
_MAX_NUMBERS_AS_CATEGORIES = 20
"""A column with more distinct numbers than this is cut into bins."""
_BINS = 10


def infer_schema(table: Columns, label: str) -> TableSchema:
    """A schema that fits a table: values become categories, and columns of many numbers are cut at their quantiles.

    Args:
        table: the rows.
        label: the column to predict.

    Raises:
        InputError: there is no such column, or it has fewer than two or too many classes.
    """
    classes = table.column(label, kind="label column").values
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"expected at most {MAX_CLASSES} classes in the label column {label!r}, got {len(classes)} distinct "
            "values. Choose a column of classes, or cut its numbers into classes first."
        )
    rules = tuple(_rules(column) for column in table.columns if column.name != label)
    return TableSchema(label, rules).complete(table)


def _rules(column: Column) -> ColumnRules:
    numbers = numbers_of(column)
    if numbers is None or len(numbers) <= _MAX_NUMBERS_AS_CATEGORIES:
        return ColumnRules(column.name)
    rows = numbers[column.codes]
    edges = np.unique(np.nanquantile(rows, np.linspace(0, 1, _BINS + 1)[1:-1], method="higher"))
    # No row is below the smallest number, so an edge there would create an empty bin.
    edges = edges[edges > np.nanmin(rows)]
    return ColumnRules(column.name, bins=tuple(edges.tolist()), missing=bool(np.isnan(rows).any()))
