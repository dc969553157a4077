"""The schema of a user's table: its label, and for each column what it may hold and what an attacker may do."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isfinite

import numpy as np
import torch
from jaxtyping import Float

from hammingbox.data.columns import Column, Columns
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError, unknown_name

MISSING, UNKNOWN = "<missing>", "<unknown>"
POLICIES = ("error", "category")


@dataclass(frozen=True)
class ColumnRules:
    """What one column may hold, and what an attacker may do with it.

    Attributes:
        name: in the file.
        categories: the values it may hold; None, without bins, to take them from the rows.
        bins: the edges that cut a column of numbers into categories.
        missing: whether empty cells are allowed; they become the category `<missing>`.
        immutable: whether an attacker cannot change it.
        forbidden: categories an attacker cannot write.
    """

    name: str
    categories: tuple[str, ...] | None = None
    bins: tuple[float, ...] | None = None
    missing: bool = False
    immutable: bool = False
    forbidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.categories is not None and self.bins is not None:
            raise InputError(f"expected categories or bins for column {self.name!r}, got both. Delete one of them.")
        if self.bins is not None and (not self.bins or any(b <= a for a, b in pairwise(self.bins))):
            raise InputError(f"expected increasing edges as bins of column {self.name!r}, got {list(self.bins)}.")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its categories as results show them, without `<unknown>`."""
        own = self.categories or ()
        if self.bins is not None:
            edges = [f"{edge:.12g}" for edge in self.bins]
            own = (f"< {edges[0]}", *(f"{a} .. {b}" for a, b in pairwise(edges)), f">= {edges[-1]}")
        return (*own, MISSING) if self.missing else own

    def ids_of(self, values: Iterable[str]) -> list[int | None]:
        """The id of each text of the file; None for an unknown value."""
        known = {word: index for index, word in enumerate(self.words) if word != MISSING}
        empty = len(self.words) - 1 if self.missing else None
        if self.bins is None:
            return [empty if text == "" else known.get(text) for text in values]
        texts = list(values)
        numbers = [_number(text) for text in texts]
        # All at once: a column may have a million distinct numbers.
        places = np.searchsorted(self.bins, [0.0 if number is None else number for number in numbers], side="right")
        return [
            empty if text == "" else None if number is None else place
            for text, number, place in zip(texts, numbers, places.tolist(), strict=True)
        ]


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
        return Schema(tuple(Feature(c.name, (*c.words, *extra)) for c in self.columns), self.classes or ())

    @property
    def immutable(self) -> list[str]:
        """Features an attacker cannot change."""
        return [column.name for column in self.columns if column.immutable]

    @property
    def forbidden(self) -> dict[str, list[str]]:
        """Categories an attacker cannot write. `<unknown>` is one of them: it is not a value."""
        own = {c.name: list(c.forbidden) for c in self.columns if c.forbidden}
        return own | ({"*": [UNKNOWN]} if self.unknown == "category" else {})

    def complete(self, table: Columns) -> "TableSchema":
        """Takes the classes and categories that are None from the rows of a table.

        Raises:
            InputError: a column is missing, or there are fewer than two classes.
        """
        classes = self.classes or _sorted(table.column(self.label, kind="label column").values)
        if len(classes) < 2:
            raise InputError(
                f"expected at least two classes in the label column {self.label!r} of {table.source}, "
                f"got {'only ' + repr(classes[0]) if classes else 'none'}. Choose another label column."
            )
        filled = tuple(
            rules if rules.categories is not None or rules.bins is not None else _with_categories(rules, table)
            for rules in self.columns
        )
        return replace(self, classes=classes, columns=filled)

    def encode(self, table: Columns, name: str) -> Dataset:
        """The rows of a table as ids.

        Raises:
            InputError: a column is missing, or a value is unknown where that is an error.
        """
        schema = self.schema
        ids = np.empty((table.rows, len(self.columns)), dtype=np.int32)
        for index, rules in enumerate(self.columns):
            column = table.column(rules.name)
            of_value = rules.ids_of(column.values)
            if self.unknown == "error" and None in of_value:
                raise _unknown_value(column, column.values[of_value.index(None)], rules, table.source)
            # `<unknown>` is the last category.
            of_code = np.array([len(rules.words) if i is None else i for i in of_value], dtype=np.int32)
            ids[:, index] = of_code[column.codes]
        label = table.column(self.label, kind="label column")
        if not set(label.values) <= set(schema.classes):
            value = next(text for text in label.values if text not in schema.classes)
            raise InputError(
                f"expected one of the classes {', '.join(schema.classes[:12])} in the label column {self.label!r} of "
                f"{table.source}, got {value!r} in row {label.first_row(value)}. "
                "Fill or drop such rows, or add the class to the schema."
            )
        classes = np.array([schema.classes.index(text) for text in label.values], dtype=np.int64)
        return Dataset(schema, torch.from_numpy(ids), torch.from_numpy(classes[label.codes]), name)


def _with_categories(rules: ColumnRules, table: Columns) -> ColumnRules:
    values = table.column(rules.name).values
    return replace(rules, categories=_sorted(values), missing=rules.missing or "" in values)


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    """Numbers in numerical order, then other texts in alphabetical order; empty texts are left out."""
    numbered = [(_number(text), text) for text in values if text]
    return tuple(text for _, text in sorted((float("inf") if n is None else n, text) for n, text in numbered))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def numbers_of(column: Column) -> Float[np.ndarray, "values"] | None:
    """The distinct values of a column as numbers, NaN if missing; None if any value is not a finite number."""
    numbers = [_number(text) if text else float("nan") for text in column.values]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


def _unknown_value(column: Column, value: str, rules: ColumnRules, source: str) -> InputError:
    shown = ", ".join(rules.words[:8]) + (", ..." if len(rules.words) > 8 else "")
    got = repr(value) if value else "an empty cell"
    return InputError(
        f"expected a known category of column {column.name!r} ({shown}), got {got} in row "
        f"{column.first_row(value)} of {source}. "
        'Add it to the schema, or set unknown = "category" there.'
    )
