"""Infers the schema of a table from its values."""

from collections.abc import Sequence

from hammingbox.data.column_notes import is_text
from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.columns import Column, Columns
from hammingbox.data.table_schema import TableSchema
from hammingbox.data.values import is_exact_number, is_written_shortest, number_of
from hammingbox.errors import InputError

MAX_CLASSES = 1000
_MAX_NUMBERS_AS_CATEGORIES = 20
"""A column with more distinct numbers than this is a column of numbers; with fewer, they may be codes."""
_STATED = "quantiles:10"
"""The default of numbers and dates; stated, so that whoever edits the file sees what an attacker may write."""


def infer_schema(table: Columns, label: str, *others: Columns, without: Sequence[str] = ()) -> TableSchema:
    """A schema that fits a table: columns of many numbers stay numbers, dates dates, and other values are categories.

    Args:
        table: the rows.
        label: the column to predict.
        others: further rows, whose numbers and dates become values too.
        without: columns that are no features.

    Raises:
        InputError: there is no such column, or it has fewer than two or too many classes.
    """
    classes = table.column(label, kind="label column").values
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"expected at most {MAX_CLASSES} classes in the label column {label!r}, got {len(classes)} distinct "
            "values. Choose a column of classes, or cut its numbers into classes first."
        )
    features = [column for column in table.columns if column.name not in (label, *without)]
    if features and all(map(is_text, features)):
        raise InputError(
            f"expected columns of categories and numbers in {table.source}, got texts in column "
            f"{features[0].name!r}: each would be a category of its own. Name it with --text {features[0].name!r}."
        )
    rules = tuple(_rules(column) for column in features)
    return TableSchema(label, rules).complete(table, *others)


def _rules(column: Column) -> ColumnRules:
    texts = [text for text in column.values if text]
    for kind in ("boolean", "date"):
        if texts and all(number_of(text, kind) is not None for text in texts):
            # Columns of 0 and 1 are categories: some are codes, and a model learns the same from both.
            if kind == "boolean" and {"0", "1"} & set(texts):
                break
            return ColumnRules(column.name, kind=kind, candidates=_STATED if kind == "date" else None)
    # A model that was trained on texts knows "1.50", and not the "1.5" that a column of numbers would give back.
    kept = not column.holds_texts or all(map(is_written_shortest, texts))
    if len(column.values) > _MAX_NUMBERS_AS_CATEGORIES and kept and all(map(is_exact_number, texts)):
        return ColumnRules(column.name, kind="number", candidates=_STATED)
    return ColumnRules(column.name)
