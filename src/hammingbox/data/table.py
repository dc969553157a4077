"""Loads a user's table: its rows under a schema, split into training, validation and test rows."""

from dataclasses import dataclass
from pathlib import Path

from hammingbox.data.columns import Columns
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.infer_schema import infer_schema
from hammingbox.data.read_columns import Frame, read_columns, source_name
from hammingbox.data.schema_file import read_schema
from hammingbox.data.split import divide
from hammingbox.data.table_schema import TableSchema
from hammingbox.errors import InputError


@dataclass(frozen=True)
class LoadedTable:
    """A user's table.

    Attributes:
        splits: its rows.
        schema: what its columns may hold, and what an attacker may do.
    """

    splits: Splits
    schema: TableSchema


def load_table(
    source: Path | str | Frame, *, label: str | None = None, schema: TableSchema | Path | None = None
) -> LoadedTable:
    """Reads a table and splits its rows. Equal rows go into the same part.

    Args:
        source: a CSV or Parquet file, or a pandas or polars frame.
        label: the column to predict; required without a schema, which is then inferred.
        schema: a schema.toml, or what it contains.

    Raises:
        FileError: a file is missing, empty or damaged.
        InputError: table and schema do not fit, or there are too few rows or classes.
    """
    table = read_columns(source)
    rules = _schema_for(table, label, schema)
    return LoadedTable(divide(rules.encode(table, source_name(source))), rules)


def read_table(source: Path | str | Frame, schema: TableSchema) -> Dataset:
    """All rows of a table under an existing schema, such as a separate test file or new rows."""
    return schema.encode(read_columns(source), source_name(source))


def _schema_for(table: Columns, label: str | None, schema: TableSchema | Path | None) -> TableSchema:
    if schema is None:
        if label is None:
            raise InputError("expected the label column or a schema, got neither. Pass --label or --schema.")
        return infer_schema(table, label)
    rules = read_schema(schema) if isinstance(schema, Path) else schema
    if label is not None and label != rules.label:
        raise InputError(
            f"expected the label of the schema, {rules.label!r}, got {label!r}. Edit the schema or leave the label out."
        )
    return rules.complete(table)
