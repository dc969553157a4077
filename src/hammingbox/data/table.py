"""The user's own table: a look at it, a schema inferred from it, and its rows as a data set."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hammingbox.data.columns import Column, Columns, Frame, read_columns
from hammingbox.data.schema import Dataset, Splits
from hammingbox.data.schema_file import read_schema
from hammingbox.data.split import distinct_rows, divide
from hammingbox.data.table_schema import ColumnRules, TableSchema, numbers_of
from hammingbox.errors import InputError

MOST_CLASSES = 1000
RARE = 10
"""A category in fewer rows than this is called rare: a model learns little about it."""
_NUMBERS_AS_CATEGORIES = 20
"""A column with more distinct numbers than this is cut into bins."""
_BINS = 10
_LOOKS_MISSING = frozenset({"?", "na", "n/a", "nan", "null", "none", "-", "unknown"})


@dataclass(frozen=True)
class ColumnSummary:
    """What `inspect_table` saw in a column.

    Attributes:
        name: of the column.
        kind: "categories" or "bins".
        cardinality: categories after binning, `<missing>` included.
        distinct: distinct values in the file.
        missing: rows with an empty cell.
        rare: categories that stand in fewer than ten rows.
        most_common: the commonest category and its rows.
        note: something to think about before training, or "".
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
    """A look at a table: what `hammingbox data inspect` shows.

    Attributes:
        source: the file.
        rows: of the file.
        distinct_rows: rows that differ in some feature.
        classes: rows of each class.
        columns: one summary a column.
        schema: the inferred schema; `write_schema` makes the file to edit.
    """

    source: str
    rows: int
    distinct_rows: int
    classes: dict[str, int]
    columns: tuple[ColumnSummary, ...]
    schema: TableSchema


@dataclass(frozen=True)
class OwnTable:
    """A user's table, divided, with the schema that says what an attacker may do."""

    splits: Splits
    schema: TableSchema


def inspect_table(source: Path | str | Frame, label: str) -> Inspection:
    """Infers a schema and counts what a person should know before training.

    Args:
        source: a CSV or Parquet file, or a pandas or polars frame.
        label: the column to predict.

    Raises:
        FileError: the file is missing, empty or damaged.
        InputError: no such column, or fewer than two classes.
    """
    table = read_columns(source)
    schema = infer_schema(table, label)
    data = schema.encode(table, "table")
    columns = tuple(
        _summary(table.column(rules.name), rules, data.ids[:, place].numpy())
        for place, rules in enumerate(schema.columns)
    )
    counts = table.column(label).counts()
    return Inspection(
        source=table.source,
        rows=table.rows,
        distinct_rows=int(distinct_rows(data.ids).max()) + 1,
        classes={name: counts[name] for name in schema.classes or ()},
        columns=columns,
        schema=schema,
    )


def infer_schema(table: Columns, label: str) -> TableSchema:
    """A schema that fits a table: its values as categories, but for columns of many numbers, cut at quantiles."""
    classes = table.column(label, kind="label column").values
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"expected at most {MOST_CLASSES} classes in the label column {label!r}, got {len(classes)} distinct "
            "values. Choose a column of classes, or cut its numbers into classes first."
        )
    rules = tuple(_rules(column) for column in table.columns if column.name != label)
    return TableSchema(label, rules).complete(table)


def load_table(
    source: Path | str | Frame, *, label: str | None = None, schema: TableSchema | Path | None = None
) -> OwnTable:
    """The rows of a table, divided into training, validation and test rows, equal rows on one side.

    Args:
        source: a CSV or Parquet file, or a pandas or polars frame.
        label: the column to predict; needed where there is no schema, and then the schema is inferred.
        schema: a schema.toml or what it holds.

    Raises:
        FileError: a file is missing, empty or damaged.
        InputError: table and schema do not fit, or too few rows or classes.
    """
    table = read_columns(source)
    rules = _schema_for(table, label, schema)
    name = Path(source).name if isinstance(source, str | Path) else "table"
    return OwnTable(divide(rules.encode(table, name)), rules)


def read_table(source: Path | str | Frame, schema: TableSchema) -> Dataset:
    """All rows of a table under a schema made elsewhere: a test file of its own, or new rows."""
    table = read_columns(source)
    return schema.encode(table, Path(source).name if isinstance(source, str | Path) else "table")


def _schema_for(table: Columns, label: str | None, schema: TableSchema | Path | None) -> TableSchema:
    if schema is None and label is None:
        raise InputError("expected the label column or a schema, got neither. Name one by --label or --schema.")
    if schema is None:
        return infer_schema(table, label or "")
    rules = read_schema(schema) if isinstance(schema, Path) else schema
    if label is not None and label != rules.label:
        raise InputError(
            f"expected the label of the schema, {rules.label!r}, got {label!r}. Edit the schema or leave the label out."
        )
    return rules.complete(table)


def _rules(column: Column) -> ColumnRules:
    numbers = numbers_of(column)
    if numbers is None or len(numbers) <= _NUMBERS_AS_CATEGORIES:
        return ColumnRules(column.name)
    rows = numbers[column.codes]
    edges = np.unique(np.nanquantile(rows, np.linspace(0, 1, _BINS + 1)[1:-1], method="higher"))
    # An edge at the smallest number would leave the bin below it empty.
    edges = edges[edges > np.nanmin(rows)]
    return ColumnRules(column.name, bins=tuple(edges.tolist()), missing=bool(np.isnan(rows).any()))


def _summary(column: Column, rules: ColumnRules, ids: np.ndarray) -> ColumnSummary:
    counts = np.bincount(ids, minlength=len(rules.words))
    commonest = int(counts.argmax())
    return ColumnSummary(
        name=column.name,
        kind="categories" if rules.bins is None else "bins",
        cardinality=len(rules.words),
        distinct=len(column.values),
        missing=column.counts().get("", 0),
        rare=int((counts < RARE).sum()),
        most_common=(rules.words[commonest], int(counts[commonest])),
        note=_note(column, rules),
    )


def _note(column: Column, rules: ColumnRules) -> str:
    rows, values = len(column.codes), len(column.values)
    if values == 1:
        return "the same in every row: it tells a model nothing"
    if rules.bins is None and values > max(100, rows // 2):
        return "nearly every row has its own value: an identifier? Leave it out"
    if odd := [text for text in column.values if text.lower() in _LOOKS_MISSING]:
        return f"{odd[0]!r} looks like a missing value; it is kept as a category"
    return ""
