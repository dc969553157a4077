"""Derived columns: computed from other columns whenever a row is written, never attacked, and free."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.data.values import MISSING
from hammingbox.errors import InputError
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.expression import Expression
from hammingbox.threat.rules.readings import NumberIndex, is_numeric

NO_ID = -1
"""The id of a value that the column does not have: the row cannot be written."""


class Derived:
    """A column that is what a formula or a table says.

    Args:
        schema: what the ids mean.
        column: the name of the column.
        formula: computes it, see `Expression`; a comparison gives 1 or 0.
        table: the dependency that decides it, in place of a formula.

    Raises:
        InputError: both or neither, a formula of the column itself, or of a column that is no number.
    """

    def __init__(
        self, schema: Schema, column: str, *, formula: str | None = None, table: Determines | None = None
    ) -> None:
        self.column = schema.feature_index(column)
        self._feature = schema.features[self.column]
        self._formula = None if formula is None else Expression(formula, schema)
        self._table = table
        if (self._formula is None) == (table is None):
            raise InputError(f"expected a formula or a table for the derived column {column!r}, got neither or both.")
        if self._formula is not None:
            self.inputs = self._formula.columns
            self._check_formula(self._formula)
        elif table is not None:
            self.inputs = table.columns[:-1]
            if table.columns[-1] != self.column:
                raise InputError(f"expected a table that decides {column!r}, got one of another column.")
        if self.column in self.inputs:
            raise InputError(
                f"expected the derived column {column!r} to follow from others, got itself in its formula."
            )
        self._of_number = NumberIndex(self._feature)
        self._missing = self._feature.categories.index(MISSING) if MISSING in self._feature.categories else NO_ID

    def _check_formula(self, formula: Expression) -> None:
        if not is_numeric(self._feature):
            raise InputError(
                f"expected a formula only for a derived column of numbers, got one for {self._feature.name!r}, whose "
                'categories are not numbers. Use by = [...] with a table, or table = "data".'
            )
        if any(word in formula.text for word in ("clean(", "changed(")):
            raise InputError(
                f"expected a formula of written values for the derived column {self._feature.name!r}, got "
                f"{formula.text!r:.200}, which asks for clean ones."
            )

    @property
    def text(self) -> str:
        """The formula, or what decides the column."""
        return self._formula.text if self._formula is not None else self._table.name if self._table is not None else ""

    def compute(self, ids: Int64[Tensor, "*points k"]) -> Int64[Tensor, "*points"]:
        """The id of the column at points given as the ids of its inputs; `NO_ID` where it has no such value.

        A missing input makes the column missing.
        """
        if self._formula is None:
            return (
                self._table.decided(ids)
                if self._table is not None
                else torch.full(ids.shape[:-1], NO_ID, device=ids.device)
            )
        numbers = self._formula.numbers(ids, ids)
        return torch.where(numbers.isnan(), self._missing, self._of_number.ids(numbers))

    def numbers(self, ids: Int64[Tensor, "*points k"]) -> Float64[Tensor, "*points"]:
        """The number that the formula gives at points, whether or not the column has it; NaN for a table."""
        if self._formula is None:
            return torch.full(ids.shape[:-1], torch.nan, dtype=torch.float64, device=ids.device)
        return self._formula.numbers(ids, ids)

    def to_json(self) -> dict[str, Any]:
        """The column and its formula or its table."""
        if self._table is not None:
            return {"column": self._feature.name, "table": self._table.to_json()}
        return {"column": self._feature.name, "formula": self.text}

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "Derived":
        """Inverse of `to_json`."""
        table = None if "table" not in value else Determines.from_json(value["table"], schema)
        return Derived(schema, value["column"], formula=value.get("formula"), table=table)


def in_order(derived: Sequence[Derived], schema: Schema) -> tuple[Derived, ...]:
    """Derived columns so that each comes after those it is computed from.

    Raises:
        InputError: two rules for one column, or columns that follow from each other.
    """
    by_column: dict[int, Derived] = {}
    for each in derived:
        if each.column in by_column:
            raise InputError(
                f"expected one rule for the derived column {schema.features[each.column].name!r}, got two. Delete one."
            )
        by_column[each.column] = each
    done: dict[int, Derived] = {}
    while len(done) < len(by_column):
        ready = [
            each
            for column, each in by_column.items()
            if column not in done and all(i in done or i not in by_column for i in each.inputs)
        ]
        if not ready:
            names = ", ".join(repr(schema.features[c].name) for c in by_column if c not in done)
            raise InputError(f"expected derived columns that follow from others, got a circle: {names}. Break it.")
        done |= {each.column: each for each in ready}
    return tuple(done.values())
