"""The unit of money: prices and budgets are whole numbers of ticks, so that their sums compare exactly."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from hammingbox.errors import InputError

MOST_TICKS = 2**40
"""A price, a budget or a gain: sums over a row of thousands of columns stay far below 2**63."""


@dataclass(frozen=True)
class Unit:
    """The smallest amount that a price may differ by.

    Attributes:
        tick: the amount of one tick, such as 0.1.
        currency: what amounts are shown in, such as "EUR".

    Raises:
        InputError: the tick is not a positive amount.
    """

    tick: Decimal
    currency: str = ""

    def __post_init__(self) -> None:
        if decimal_of(self.tick) is None or self.tick <= 0:
            raise InputError(f"expected a positive amount as unit, such as 0.1, got {self.tick!s:.80}.")

    @staticmethod
    def of(tick: Any, currency: str = "") -> "Unit":
        """The unit that a file states: its tick as a text or a number.

        Raises:
            InputError: it is not a positive amount.
        """
        amount = decimal_of(tick)
        if amount is None:
            raise InputError(f"expected a positive amount as unit, such as 0.1, got {_shown(tick)}.")
        return Unit(amount, currency)

    def ticks(self, amount: Any) -> int:
        """The number of ticks of an amount: 0.2 is 2 ticks of 0.1.

        Args:
            amount: a Decimal, a text or a number. A float stands for the shortest decimal that is written like it.

        Raises:
            InputError: it is negative, too large, or no whole number of ticks.
        """
        number = decimal_of(amount)
        if number is None or number < 0:
            raise InputError(
                f"expected an amount of at least 0, got {_shown(amount)}. Write a number such as "
                f"{self.amount(2).normalize():f}."
            )
        if number / self.tick > MOST_TICKS:
            raise InputError(f"expected at most {self.text(MOST_TICKS)}, got {_shown(amount)}. Choose a larger unit.")
        if number % self.tick:
            raise InputError(
                f"expected a multiple of the unit {self.text(1)}, got {_shown(amount)}. "
                "Round it, or choose a smaller unit."
            )
        return int(number / self.tick)

    def amount(self, ticks: int) -> Decimal:
        """The amount that a number of ticks stands for."""
        return self.tick * ticks

    def text(self, ticks: int) -> str:
        """An amount as it is shown: "0.2 EUR"."""
        number = self.amount(ticks).normalize()
        return f"{number:f} {self.currency}".strip()

    def to_json(self) -> dict[str, Any]:
        """The amount of one tick as text, and the currency."""
        return {"tick": f"{self.tick:f}", "currency": self.currency}

    @staticmethod
    def from_json(value: Any) -> "Unit":
        """Inverse of `to_json`."""
        return Unit.of(value["tick"], value["currency"])


def _shown(amount: Any) -> str:
    return f"{amount!s:.80}" if isinstance(amount, Decimal) else f"{amount!r:.80}"


def decimal_of(amount: Any) -> Decimal | None:
    """An amount as an exact decimal of moderate size; None if it is none."""
    if isinstance(amount, bool) or not isinstance(amount, Decimal | str | int | float):
        return None
    try:
        number = Decimal(repr(amount) if isinstance(amount, float) else amount)
    except (InvalidOperation, ValueError):
        return None
    if not number.is_finite() or (number and not -20 <= number.adjusted() <= 20) or len(number.as_tuple().digits) > 15:
        return None
    return number
