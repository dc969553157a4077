"""The rule of one column: what writing each of its values costs, and what cannot be written."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError, did_you_mean
from hammingbox.threat.rules.limits import NO_LIMITS, Limits
from hammingbox.threat.rules.unit import MOST_TICKS

CANNOT = -1
"""The price of what cannot be written."""
ANY = "*"
"""Every category, in a pair."""


@dataclass(frozen=True)
class ColumnRule:
    """What it costs to change one column, in ticks, and where its value may move.

    The price of a change is the first of these that is given: its pair (from, to); its pair with "*"; the category
    that is written; the steps up or down; the flat price. `CANNOT` is a price of its own.

    Attributes:
        column: its name.
        frozen: it never changes.
        price: of any change.
        write: the price of writing a category, by category.
        pairs: (from, to, price) of replacing one category by another; either may be "*".
        up: the price of a step up.
        down: the price of a step down.
        step: the size of a step of a number; of a date, in days. Without it a step is a place in the order of the
            categories. A part of a step costs a whole one.
        order: the order of the categories; that of the schema without it.
        limits: directions and ranges.

    Raises:
        InputError: entries that contradict each other, or a price that is negative.
    """

    column: str
    frozen: bool = False
    price: int | None = None
    write: Mapping[str, int] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, int], ...] = ()
    up: int | None = None
    down: int | None = None
    step: Decimal | None = None
    order: tuple[str, ...] = ()
    limits: Limits = NO_LIMITS

    def __post_init__(self) -> None:
        if self.frozen and (self.is_priced or self.limits != NO_LIMITS):
            raise InputError(
                f"expected a frozen column {self.column!r} without prices and directions, got some. "
                "Delete them, or delete frozen."
            )
        if self.price is not None and (self.up is not None or self.down is not None):
            raise InputError(f"expected price or up and down in column {self.column!r}, got both. Delete one of them.")
        for price in self._prices:
            if type(price) is not int or not CANNOT <= price <= MOST_TICKS:
                raise InputError(f"expected prices of at least 0 in column {self.column!r}, got {price!r:.80} ticks.")
        if self.step is not None and self.step <= 0:
            raise InputError(f"expected a positive step in column {self.column!r}, got {self.step}.")
        seen = [pair[:2] for pair in self.pairs]
        if len(set(seen)) < len(seen):
            twice = next(pair for pair in seen if seen.count(pair) > 1)
            raise InputError(f"expected each pair of column {self.column!r} once, got {list(twice)} twice.")
        self._check_steps()

    def _check_steps(self) -> None:
        """Checks that steps have prices in both directions.

        Raises:
            InputError: one is missing, or priced against the direction.
        """
        direction = self.limits.direction
        if self.is_stepped:
            for name, price, against in (("up", self.up, "shrinks"), ("down", self.down, "grows")):
                if price is None and direction != against:
                    raise InputError(
                        f"expected prices up and down in column {self.column!r}, got no price for steps {name}. "
                        f'Add {name} = ..., or {name} = "cannot".'
                    )
                if price is not None and price != CANNOT and direction == against:
                    raise InputError(
                        f"expected column {self.column!r} that only {direction} without a price for steps {name}, "
                        f"got one. Delete {name}, or direction."
                    )

    @property
    def is_stepped(self) -> bool:
        """Whether steps have prices."""
        return self.up is not None or self.down is not None

    @property
    def is_priced(self) -> bool:
        """Whether it says any price."""
        return self.price is not None or self.is_stepped or bool(self.write) or bool(self.pairs)

    @property
    def is_uniform(self) -> bool:
        """Whether every change costs the same, or none is allowed."""
        return not (self.write or self.pairs or self.is_stepped or self.limits != NO_LIMITS)

    def check(self, feature: Feature, *, priced: bool) -> None:
        """Checks that the rule fits its column.

        Args:
            feature: the column.
            priced: whether changes have prices at all.

        Raises:
            InputError: an unknown category, a missing price, or prices without a unit.
        """
        self.limits.check(feature)
        # First of all: a misspelled category would look like a missing price.
        for text in dict.fromkeys([*self.write, *(name for pair in self.pairs for name in pair[:2] if name != ANY)]):
            category_id(feature, text)
        if not priced and self.is_stepped:
            raise InputError(
                f"expected no prices without a unit, got up or down in column {self.column!r}. "
                'Add unit = "0.1" at the top, or write direction = "grows" or "shrinks".'
            )
        if not priced and any(price != CANNOT for price in self._prices):
            raise InputError(
                f'expected no prices without a unit, got one in column {self.column!r}. Add unit = "0.1" at the top.'
            )
        if feature.is_ordered and self.step is None and (self.is_stepped or self.limits.most_steps is not None):
            raise InputError(
                f"expected the size of a step in column {self.column!r} of {feature.kind}s, got none. Add step = 1."
            )
        if self.step is not None and not feature.is_ordered:
            raise InputError(
                f"expected step only in columns of numbers and dates, got it in column {self.column!r}: a step of "
                "categories is a place in their order. Delete it."
            )
        if self.order and feature.is_ordered:
            raise InputError(f"expected order only in columns of categories, got it in column {self.column!r}.")
        if priced and not self.frozen and self.price is None and not self.is_stepped and not self._covers(feature):
            raise InputError(
                f"expected a price for every change of column {self.column!r}, got none for some. "
                'Add price = ..., or price = "cannot".'
            )

    @property
    def _prices(self) -> list[int]:
        stated = [self.price, self.up, self.down, *self.write.values(), *(price for *_, price in self.pairs)]
        return [price for price in stated if price is not None]

    def _covers(self, feature: Feature) -> bool:
        """Whether `write` and `pairs` alone give every change a price."""
        written = {feature.id_of(text) for text in self.write} | {
            feature.id_of(to) for own, to, _ in self.pairs if own == ANY and to != ANY
        }
        from_any = {feature.id_of(own) for own, to, _ in self.pairs if to == ANY and own != ANY}
        return (
            any(own == to == ANY for own, to, _ in self.pairs)
            or len(written - {None}) == len(feature.categories)
            or len(from_any - {None}) == len(feature.categories)
        )

    def to_json(self) -> dict[str, Any]:
        """What is stated; prices in ticks, -1 for "cannot"."""
        value: dict[str, Any] = {"frozen": True} if self.frozen else {}
        for name in ("price", "up", "down"):
            if getattr(self, name) is not None:
                value[name] = getattr(self, name)
        if self.write:
            value["write"] = dict(self.write)
        if self.pairs:
            value["pairs"] = [list(pair) for pair in self.pairs]
        if self.order:
            value["order"] = list(self.order)
        if self.step is not None:
            value["step"] = f"{self.step:f}"
        for part in fields(Limits):
            limit = getattr(self.limits, part.name)
            if limit is not None:
                value[part.name] = (
                    f"{limit:f}" if isinstance(limit, Decimal) else list(limit) if isinstance(limit, tuple) else limit
                )
        return value

    @staticmethod
    def from_json(column: str, value: Mapping[str, Any]) -> "ColumnRule":
        """Inverse of `to_json`."""
        own = dict(value)
        limits = {part.name: own.pop(part.name) for part in fields(Limits) if part.name in own}
        for name in ("range", "window"):
            if name in limits:
                limits[name] = tuple(limits[name])
        if "relative" in limits:
            limits["relative"] = Decimal(limits["relative"])
        if "step" in own:
            own["step"] = Decimal(own["step"])
        if "pairs" in own:
            own["pairs"] = tuple((str(a), str(b), price) for a, b, price in own["pairs"])
        if "order" in own:
            own["order"] = tuple(own["order"])
        return ColumnRule(column, limits=Limits(**limits), **own)


def category_id(feature: Feature, text: str) -> int:
    """The id of a category that a rule names.

    Raises:
        InputError: the column has no such category.
    """
    found = feature.id_of(text)
    if found is None:
        raise InputError(
            f"expected a category of column {feature.name!r}, got {text!r:.80}.{did_you_mean(text, feature.categories)}"
        )
    return found
