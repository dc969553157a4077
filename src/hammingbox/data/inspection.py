"""Inspects a table before training: the inferred schema, the size of each column, and problems to look at."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hammingbox.data.column_notes import notes_of
from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.columns import Column
from hammingbox.data.infer_schema import infer_schema
from hammingbox.data.read_columns import Frame, read_columns
from hammingbox.data.split import distinct_rows
from hammingbox.data.table_schema import TableSchema

RARE = 10
"""A category with fewer rows than this is called rare: a model learns little about it."""


@dataclass(frozen=True)
class ColumnSummary:
    """What `inspect_table` found in a column.

    Attributes:
        name: of the column.
        kind: "category", "number", "date" or "boolean".
        cardinality: number of categories or distinct values, including `<missing>`.
        distinct: number of distinct values in the file.
        missing: number of rows with an empty cell.
        rare: number of categories with fewer than `RARE` rows; 0 for numbers and dates.
        most_common: the most frequent category and its number of rows.
        note: problems to look at before training, or "".
    """

    name: str
    kind: str
    cardinality: int
    distinct: int
    missing: int
    rare: int
    most_common: tuple[str, int]
    note: str


@dataclass(frozen=True)
class Inspection:
    """What `hammingbox data inspect` shows about a table.

    Attributes:
        source: the file.
        rows: number of rows.
        distinct_rows: number of rows that differ in at least one feature.
        classes: number of rows of each class.
        columns: one summary per column.
        schema: the inferred schema; `write_schema` writes it to a file that can be edited.
        notes: what was left out of the file.
    """

    source: str
    rows: int
    distinct_rows: int
    classes: dict[str, int]
    columns: tuple[ColumnSummary, ...]
    schema: TableSchema
    notes: tuple[str, ...] = ()


def inspect_table(source: Path | str | Frame, label: str, *, encoding: str = "utf-8-sig") -> Inspection:
    """Infers the schema of a table and summarises its columns.

    Args:
        source: a CSV or Parquet file, or a pandas or polars frame.
        label: the column to predict.
        encoding: of a CSV file.

    Raises:
        FileError: the file is missing, empty or damaged.
        InputError: there is no such column, or fewer than two classes.
    """
    table = read_columns(source, encoding=encoding)
    schema = infer_schema(table, label)
    data = schema.encode(table, "table")
    columns = tuple(
        _summary(table.column(rules.name), rules, data.ids[:, index].numpy(), data.labels.numpy())
        for index, rules in enumerate(schema.columns)
    )
    counts = table.column(label).counts()
    return Inspection(
        source=table.source,
        rows=table.rows,
        distinct_rows=int(distinct_rows(data.ids).max()) + 1,
        classes={name: counts[name] for name in schema.classes or ()},
        columns=columns,
        schema=schema,
        notes=table.notes,
    )


def _summary(column: Column, rules: ColumnRules, ids: np.ndarray, labels: np.ndarray) -> ColumnSummary:
    counts = np.bincount(ids, minlength=len(rules.words))
    most_common = int(counts.argmax())
    return ColumnSummary(
        name=column.name,
        kind=rules.kind,
        cardinality=len(rules.words),
        distinct=len(column.values),
        missing=column.counts().get("", 0),
        rare=0 if rules.is_ordered else int((counts < RARE).sum()),
        most_common=(rules.words[most_common], int(counts[most_common])),
        note="; ".join(notes_of(column, rules, labels)),
    )
