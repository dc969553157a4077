"""Loads a user's table: its rows under a schema, split into training, validation and test rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from hammingbox.data.columns import Columns
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.infer_schema import infer_schema
from hammingbox.data.read_columns import Frame, read_columns, source_name
from hammingbox.data.schema_file import read_schema
from hammingbox.data.split import distinct_rows, divide
from hammingbox.data.split_rule import PARTS, SplitRule, assigned
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
    source: Path | str | Frame,
    *,
    label: str | None = None,
    schema: TableSchema | Path | None = None,
    validation: Path | str | Frame | None = None,
    test: Path | str | Frame | None = None,
    time: str | None = None,
    group: str | None = None,
    stratified: bool = False,
    encoding: str = "utf-8-sig",
) -> LoadedTable:
    """Reads a table and splits its rows 70:10:20. Equal rows go into the same part.

    Args:
        source: a CSV, Parquet or Excel file, or a pandas or polars frame.
        label: the column to predict; required without a schema, which is then inferred.
        schema: a schema.toml, or what it contains.
        validation: validation rows of their own; `source` is then not split for them.
        test: test rows of their own. Categories come from `source`; a number or a date may be new.
        time: a column of dates or numbers: the oldest rows are for training, the newest for the test. An inferred
            schema has no such feature.
        group: a column whose equal values stay in one part; an inferred schema has no such feature.
        stratified: give each part the same share of every class.
        encoding: of CSV files.

    Raises:
        FileError: a file is missing, empty or damaged.
        InputError: table and schema do not fit, or there are too few rows or classes.
    """
    rule = SplitRule(time, group, stratified)
    table = read_columns(source, encoding=encoding)
    given = {"validation": validation, "test": test}
    own = {part: read_columns(file, encoding=encoding) for part, file in given.items() if file is not None}
    rules = _schema_for(table, label, schema, rule, tuple(own.values()))
    name = source_name(source)
    data = rules.encode(table, name)
    if not own and rule == SplitRule():
        return LoadedTable(divide(data), rules)
    parts = _own_parts(own, rules, name, len(data))
    needed = tuple(part for part in PARTS if part not in own)
    if needed == ("train",):
        return LoadedTable(Splits(data, parts["validation"], parts["test"]), rules)
    position = rule.positions(table, distinct_rows(data.ids), data.labels)
    parts |= {part: data.take(rows) for part, rows in assigned(position, needed, name).items()}
    return LoadedTable(Splits(**parts), rules)


def read_table(source: Path | str | Frame, schema: TableSchema, *, encoding: str = "utf-8-sig") -> Dataset:
    """All rows of a table under an existing schema, such as a separate test file or new rows."""
    return schema.encode(read_columns(source, encoding=encoding), source_name(source))


def _own_parts(own: Mapping[str, Columns], rules: TableSchema, name: str, rows: int) -> dict[str, Dataset]:
    """Parts that have files of their own. Their rows are numbered on from those of the file before."""
    parts = {}
    for part, table in own.items():
        data = rules.encode(table, name)
        parts[part] = replace(data, numbers=torch.arange(rows, rows + len(data), device="cpu"))
        rows += len(data)
    return parts


def _schema_for(
    table: Columns,
    label: str | None,
    schema: TableSchema | Path | None,
    rule: SplitRule,
    others: tuple[Columns, ...],
) -> TableSchema:
    if schema is None:
        if label is None:
            raise InputError("expected the label column or a schema, got neither. Pass --label or --schema.")
        return infer_schema(table, label, *others, without=rule.columns)
    rules = read_schema(schema) if isinstance(schema, Path) else schema
    if label is not None and label != rules.label:
        raise InputError(
            f"expected the label of the schema, {rules.label!r}, got {label!r}. Edit the schema or leave the label out."
        )
    return rules.complete(table, *others)
