"""The schema of a user's table: its label, and for each column what it may hold and what an attacker may do."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int

from hammingbox.data.column_rules import ColumnRules, sorted_texts
from hammingbox.data.columns import Column, Columns
from hammingbox.data.dataset import Dataset
from hammingbox.data.mapped import BLOCK, ArrayFile, forget_pages, is_mapped_array, narrowest
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.values import UNKNOWN
from hammingbox.errors import InputError, unknown_name

POLICIES = ("error", "category")


@dataclass(frozen=True)
class TableSchema:
    """The label column of a table with its classes, and the columns that are read, in this order.

    Attributes:
        label: the column to predict.
        columns: the features; other columns of the file are ignored.
        classes: None to take them from the rows.
        unknown: "error" to reject unknown values, "category" to turn them into the category `<unknown>`.
    """

    label: str
    columns: tuple[ColumnRules, ...]
    classes: tuple[str, ...] | None = None
    unknown: str = "error"

    def __post_init__(self) -> None:
        if self.unknown not in POLICIES:
            raise unknown_name("policy for unknown values", self.unknown, POLICIES)
        if any(column.name == self.label for column in self.columns):
            raise InputError(
                f"expected features without the label {self.label!r}, got it among the columns. Delete that column."
            )

    @cached_property
    def schema(self) -> Schema:
        """The features and classes. Call `complete` first if categories or classes are None."""
        extra = (UNKNOWN,) if self.unknown == "category" else ()
        return Schema(tuple(Feature(c.name, (*c.words, *extra), c.kind) for c in self.columns), self.classes or ())

    @property
    def immutable(self) -> list[str]:
        """Features an attacker cannot change."""
        return [column.name for column in self.columns if column.immutable]

    @property
    def forbidden(self) -> dict[str, list[str]]:
        """Categories an attacker cannot write. `<unknown>` is one of them: it is not a value."""
        own = {c.name: list(c.unwritable) for c in self.columns if c.unwritable}
        return own | ({"*": [UNKNOWN]} if self.unknown == "category" else {})

    @property
    def options(self) -> dict[str, tuple[str, ...]]:
        """The few values an attacker may write, of columns where these are not all; see `TableSpace`."""
        return {column.name: column.offered for column in self.columns if column.offered is not None}

    @property
    def steps(self) -> dict[str, tuple[float, ...]]:
        """What an attacker may add to numbers and dates; see `TableSpace`."""
        return {column.name: column.steps for column in self.columns if column.steps}

    def complete(self, table: Columns, *others: Columns) -> "TableSchema":
        """Takes the classes, categories and candidates that are not stated from the rows of a table.

        Args:
            table: the rows that decide.
            others: further rows, such as those of a test file. Only their numbers and dates become values too.

        Raises:
            InputError: a column is missing, or there are fewer than two classes.
        """
        classes = self.classes or sorted_texts(table.column(self.label, kind="label column").values)
        if len(classes) < 2:
            raise InputError(
                f"expected at least two classes in the label column {self.label!r} of {table.source}, "
                f"got {'only ' + repr(classes[0]) if classes else 'none'}. Choose another label column."
            )
        filled = tuple(
            rules.complete(table.column(rules.name), [other.column(rules.name) for other in others])
            for rules in self.columns
        )
        return replace(self, classes=classes, columns=filled)

    def stated(self) -> "TableSchema":
        """The same schema with the categories that were found in the rows stated, so that a file holds them."""
        columns = tuple(
            rules if rules.kind != "category" or rules.bins is not None else replace(rules, categories=rules.values)
            for rules in self.columns
        )
        return replace(self, columns=columns)

    def encode(self, table: Columns, name: str) -> Dataset:
        """The rows of a table as ids.

        Raises:
            InputError: a column is missing, or a value is unknown where that is an error.
        """
        schema = self.schema
        columns = [table.column(rules.name) for rules in self.columns]
        tables = [self._ids_by_code(rules, column, table) for rules, column in zip(self.columns, columns, strict=True)]
        label = table.column(self.label, kind="label column")
        if not set(label.values) <= set(schema.classes):
            value = next(text for text in label.values if text not in schema.classes)
            raise InputError(
                f"expected one of the classes {', '.join(schema.classes[:12])} in the label column {self.label!r} of "
                f"{table.source}, got {value!r} in row {label.first_row(value)}. "
                "Fill or drop such rows, or add the class to the schema."
            )
        classes = np.array([schema.classes.index(text) for text in label.values], dtype=np.int64)
        if not is_mapped_array(label.codes):
            ids = np.empty((table.rows, len(columns)), dtype=np.int32)
            for index, (of_code, column) in enumerate(zip(tables, columns, strict=True)):
                ids[:, index] = of_code[column.codes]
            return Dataset(schema, torch.from_numpy(ids), torch.from_numpy(classes[label.codes]), name)
        file, labels = ArrayFile(len(columns), narrowest(max(schema.cardinalities))), []
        for begin in range(0, table.rows, BLOCK):
            block = slice(begin, begin + BLOCK)
            pairs = zip(tables, columns, strict=True)
            file.append(np.stack([of_code[column.codes[block]] for of_code, column in pairs], 1))
            labels.append(classes[label.codes[block]])
            forget_pages(label.codes)
        return Dataset(schema, torch.from_numpy(file.mapped()), torch.from_numpy(np.concatenate(labels)), name)

    def _ids_by_code(self, rules: ColumnRules, column: Column, table: Columns) -> Int[np.ndarray, "values"]:
        """The id of each value of a column.

        Raises:
            InputError: a value is unknown where that is an error.
        """
        of_value = rules.ids_of(column.values)
        if self.unknown == "error" and None in of_value:
            value = column.values[of_value.index(None)]
            raise rules.unknown_value(value, column.first_row(value), table.source)
        # `<unknown>` is the last category.
        return np.array([len(rules.words) if i is None else i for i in of_value], dtype=np.int32)
