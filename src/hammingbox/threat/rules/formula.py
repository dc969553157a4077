"""Relations by formula: comparisons and arithmetic between columns, implications, and what follows from a change."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.expression import Expression
from hammingbox.threat.rules.relation import PointIds, PointMask, Relation, ids_of_texts


class Formula(Relation):
    """A comparison between columns, such as start <= end or total == a + b.

    Args:
        schema: what the ids mean.
        formula: see `Expression`.
        name: what reports call it.

    Raises:
        InputError: it is no comparison, or names something unknown.
    """

    kind = "formula"

    def __init__(self, schema: Schema, formula: str, name: str = "") -> None:
        self._formula = comparison(formula, schema)
        self.columns = self._formula.columns
        self.name = name or formula

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """Whether the formula holds or is unknown."""
        return _spread(self._formula.truth(written, clean).can_hold, written, clean)

    def to_json(self) -> dict[str, Any]:
        """The text of the formula."""
        return {"kind": self.kind, "name": self.name, "formula": self._formula.text}

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "Formula":
        """Inverse of `to_json`."""
        return Formula(schema, value["formula"], value["name"])


class Implies(Relation):
    """If one comparison holds, another must hold.

    Args:
        schema: what the ids mean.
        condition: the comparison that asks for the other.
        then: what must hold.
        name: what reports call it.

    Raises:
        InputError: one of them is no comparison.
    """

    kind = "implies"

    def __init__(self, schema: Schema, condition: str, then: str, name: str = "") -> None:
        self._condition, self._then = comparison(condition, schema), comparison(then, schema)
        self.columns = tuple(dict.fromkeys([*self._condition.columns, *self._then.columns]))
        self._places = [[self.columns.index(c) for c in part.columns] for part in (self._condition, self._then)]
        self.name = name or f"if {condition} then {then}"

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """Whether the condition can fail or the consequence can hold."""
        first, second = self._places
        condition = self._condition.truth(written[..., first], clean[..., first])
        then = self._then.truth(written[..., second], clean[..., second])
        return _spread(condition.can_fail | then.can_hold, written, clean)

    def to_json(self) -> dict[str, Any]:
        """The texts of both formulas."""
        return {"kind": self.kind, "name": self.name, "if": self._condition.text, "then": self._then.text}

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "Implies":
        """Inverse of `to_json`."""
        return Implies(schema, value["if"], value["then"], value["name"])


class IfWritten(Relation):
    """If a column is changed (to one of some values), a comparison must hold.

    Args:
        schema: what the ids mean.
        column: the column whose change asks for more.
        then: what must then hold; `changed(b)` says that another column must change too.
        values: what must be written for the rule to apply; any change without it.
        name: what reports call it.

    Raises:
        InputError: an unknown column or value, or no comparison.
    """

    kind = "if_written"

    def __init__(
        self, schema: Schema, column: str, then: str, values: Sequence[str] | None = None, name: str = ""
    ) -> None:
        own = schema.feature_index(column)
        self._column, self._then = column, comparison(then, schema)
        self.columns = tuple(dict.fromkeys([own, *self._then.columns]))
        self._places = [self.columns.index(c) for c in self._then.columns]
        self._values = None if values is None else tuple(values)
        if values is not None and not values:
            raise InputError(f"expected values of column {column!r}, got none. Delete values for any change.")
        self._applies = torch.full((schema.cardinalities[own],), values is None, device="cpu")
        if values is not None:
            self._applies[ids_of_texts(schema, [own], [[value] for value in values])[:, 0]] = True
        self.name = name or f"if {column} is written then {then}"

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """Whether the column is unchanged, changed to another value, or the comparison can hold."""
        applies = (written[..., 0] != clean[..., 0]) & self._applies.to(written.device)[written[..., 0]]
        then = self._then.truth(written[..., self._places], clean[..., self._places])
        return _spread(~applies | then.can_hold, written, clean)

    def to_json(self) -> dict[str, Any]:
        """The column, the values and the text of the formula."""
        value = {"kind": self.kind, "name": self.name, "column": self._column, "then": self._then.text}
        return value if self._values is None else {**value, "values": list(self._values)}

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "IfWritten":
        """Inverse of `to_json`."""
        return IfWritten(schema, value["column"], value["then"], value.get("values"), value["name"])


def comparison(text: str, schema: Schema) -> Expression:
    """A formula that is true or false.

    Raises:
        InputError: it is a number, or no formula.
    """
    found = Expression(text, schema)
    if not found.is_logic:
        raise InputError(f"expected a comparison such as a + b <= c, got {text!r:.200}, which is a number.")
    return found


def _spread(mask: PointMask, written: PointIds, clean: PointIds) -> PointMask:
    """A mask in the shape of the points: a formula of `clean` values alone has the shape of those."""
    return mask.expand(torch.broadcast_shapes(written.shape[:-1], clean.shape[:-1]))
