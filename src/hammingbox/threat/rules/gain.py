"""What a success is worth to the attacker: an amount for all rows, or a column that says it for each row."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.readings import is_numeric, reading
from hammingbox.threat.rules.unit import MOST_TICKS, Unit
from hammingbox.types import Ids, RowInt


@dataclass(frozen=True)
class Gain:
    """What a success is worth. A row is attacked up to gain - margin.

    Attributes:
        column: the name of the column that holds the gain of each row, in the currency of the unit; None for `value`.
        value: the gain of every row, in ticks.
        margin: what must remain for the attacker, in ticks.

    Raises:
        InputError: neither or both, or something negative.
    """

    column: str | None = None
    value: int | None = None
    margin: int = 0

    def __post_init__(self) -> None:
        if (self.column is None) == (self.value is None):
            raise InputError("expected a column or a value as gain, got neither or both.")
        if any(type(n) is not int or not 0 <= n <= MOST_TICKS for n in (self.value or 0, self.margin)):
            raise InputError(
                f"expected a gain and a margin of at least 0, got {self.value!r} and {self.margin!r} ticks."
            )

    def table(self, schema: Schema, unit: Unit) -> Int64[Tensor, "categories"] | None:
        """The gain of each category of the column, in whole ticks; None without a column.

        A part of a tick buys nothing, and a row without a gain is worth nothing.

        Raises:
            InputError: the column is unknown, or holds no numbers.
        """
        if self.column is None:
            return None
        feature = schema.features[schema.feature_index(self.column)]
        if feature.kind == "date" or not is_numeric(feature):
            raise InputError(
                f"expected a column of numbers as gain, got {self.column!r} ({feature.kind}). "
                "Name a column of amounts, or write value = ..."
            )
        return torch.tensor(_ticks(feature, unit), dtype=torch.int64, device="cpu")

    def allowance(self, gains: RowInt | None, x: Ids) -> RowInt:
        """What may be spent on each row: gain - margin, at least 0."""
        if gains is None:
            gains = torch.full((len(x),), self.value or 0, dtype=torch.int64, device=x.device)
        return (gains - self.margin).clamp(min=0)

    def to_json(self) -> dict[str, Any]:
        """The column or the value, and the margin in ticks."""
        return {"column": self.column, "value": self.value, "margin": self.margin}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Gain":
        """Inverse of `to_json`."""
        return Gain(value["column"], value["value"], value["margin"])


def _ticks(feature: Feature, unit: Unit) -> list[int]:
    """The whole ticks of each category of a column of amounts; 0 for what is negative or no amount."""
    most = unit.amount(MOST_TICKS)
    amounts = [None if number != number else Decimal(repr(number)) for number in reading(feature).tolist()]
    return [
        0
        if amount is None or amount <= 0
        else int((min(amount, most) / unit.tick).to_integral_value(rounding=ROUND_FLOOR))
        for amount in amounts
    ]
