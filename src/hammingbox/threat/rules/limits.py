"""Where the value of a column may move: directions, ranges, relative changes, windows of days, numbers of steps."""

from dataclasses import dataclass
from decimal import Decimal

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from hammingbox.data.schema import Feature
from hammingbox.data.values import MISSING, UNKNOWN, number_of
from hammingbox.errors import InputError, did_you_mean
from hammingbox.threat.rules.readings import TOLERANCE, is_numeric, reading

DIRECTIONS = ("grows", "shrinks")
_DAY = 86_400.0

Number = Float64[Tensor, "..."]


@dataclass(frozen=True)
class Limits:
    """Which values may replace which. What has no place in an order (an empty cell) takes no part in a move.

    Attributes:
        direction: "grows" or "shrinks"; None for both.
        most_steps: how many steps a change may take.
        range: the smallest and the largest value that may be written; None where there is no bound.
        relative: the largest share of the row's own value by which it may change: 0.1 allows 90 to 110 in place of 100.
        window: for dates, how many days before and after the row's own date may be written.
    """

    direction: str | None = None
    most_steps: int | None = None
    range: tuple[str | None, str | None] | None = None
    relative: Decimal | None = None
    window: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.direction is not None and self.direction not in DIRECTIONS:
            raise InputError(f"expected direction as {' or '.join(map(repr, DIRECTIONS))}, got {self.direction!r:.80}.")
        if self.most_steps is not None and (type(self.most_steps) is not int or self.most_steps < 1):
            raise InputError(
                f"expected most_steps of at least 1, got {self.most_steps!r:.80}. "
                "Write frozen = true for a column that never changes."
            )
        if self.relative is not None and self.relative <= 0:
            raise InputError(f"expected relative as a positive share, such as 0.1, got {self.relative!s:.80}.")
        if self.window is not None and (
            len(self.window) != 2 or any(type(d) is not int or d < 0 for d in self.window) or not any(self.window)
        ):
            raise InputError(
                f"expected window as days before and after, such as [3, 7], got {list(self.window)!r:.80}."
            )

    @property
    def compares(self) -> bool:
        """Whether a change is judged from the row's own value, so that this value must have a place in the order."""
        return any(limit is not None for limit in (self.direction, self.most_steps, self.relative, self.window))

    def check(self, feature: Feature) -> None:
        """Checks that the limits suit a column.

        Raises:
            InputError: numbers of what has none, dates of what is none, or a range that no value is in.
        """
        if self.window is not None and feature.kind != "date":
            raise InputError(f"expected window only in columns of dates, got it in column {feature.name!r}.")
        if self.relative is not None and (feature.kind == "date" or not is_numeric(feature)):
            raise InputError(f"expected relative only in columns of numbers, got it in column {feature.name!r}.")
        if self.range is None:
            return
        if not is_numeric(feature):
            raise InputError(
                f"expected range only in columns of numbers or dates, got it in column {feature.name!r}. "
                'Price the values that cannot be written as "cannot" under write.'
            )
        low, high = self.bounds(feature)
        numbers = reading(feature)
        if low > high:
            raise InputError(
                f"expected a range from low to high in column {feature.name!r}, got {self.range[0]} first. "
                "Exchange the ends."
            )
        if not ((numbers >= low) & (numbers <= high)).any():
            raise InputError(
                f"expected a range that some value of column {feature.name!r} is in, got none between "
                f"{self.range[0]} and {self.range[1]}. Widen the range, or write frozen = true."
            )

    def bounds(self, feature: Feature) -> tuple[float, float]:
        """The range as numbers.

        Raises:
            InputError: a bound is no number or date.
        """
        kind = "number" if feature.kind == "category" else feature.kind
        found = []
        for text, free in zip(self.range or (None, None), (-torch.inf, torch.inf), strict=True):
            number = free if text is None else number_of(text, kind)
            if number is None:
                raise InputError(f"expected a {kind} as bound of column {feature.name!r}, got {text!r:.80}.")
            found.append(number)
        return found[0], found[1]

    def allow(self, clean: Number, written: Number, feature: Feature) -> Bool[Tensor, "..."]:
        """Which values (as numbers, NaN for none) may replace which; `most_steps` and `direction` are not judged."""
        allowed = torch.ones(torch.broadcast_shapes(clean.shape, written.shape), dtype=torch.bool, device=clean.device)
        if self.range is not None:
            low, high = self.bounds(feature)
            allowed = allowed & (written >= low) & (written <= high)
        change = written - clean
        if self.relative is not None:
            allowed = allowed & (change.abs() <= clean.abs() * (float(self.relative) + TOLERANCE))
        if self.window is not None:
            before, after = self.window
            allowed = allowed & (change >= -before * _DAY) & (change <= after * _DAY)
        return allowed


NO_LIMITS = Limits()


def places_in_order(feature: Feature, order: tuple[str, ...]) -> Float64[Tensor, "categories"]:
    """The place of each category in an order: the one that is given, else that of the schema; NaN for no place.

    Raises:
        InputError: the order names a category that the column does not have, or one twice.
    """
    places = torch.full((len(feature.categories),), torch.nan, dtype=torch.float64, device="cpu")
    if not order:
        own = [i for i, text in enumerate(feature.categories) if text not in (MISSING, UNKNOWN)]
        places[own] = torch.arange(len(own), dtype=torch.float64, device="cpu")
        return places
    for place, text in enumerate(order):
        found = feature.id_of(text)
        if found is None:
            raise InputError(
                f"expected categories of column {feature.name!r} in its order, got {text!r:.80}."
                f"{did_you_mean(text, feature.categories)}"
            )
        if not places[found].isnan():
            raise InputError(
                f"expected each category of column {feature.name!r} once in its order, got {text!r} twice."
            )
        places[found] = float(place)
    return places
