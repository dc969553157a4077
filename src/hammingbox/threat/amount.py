"""Budgets that show themselves as money."""

from hammingbox.threat.rules.unit import Unit


class Amount(int):
    """A number of ticks that a person reads as money: it counts and compares as ticks, and is written in its currency.

    Example: with a unit of 0.1 EUR, `Amount(2, unit)` equals 2, is written "0.2 EUR", and its float is 0.2.
    """

    unit: Unit

    def __new__(cls, ticks: int, unit: Unit) -> "Amount":
        """Ticks of a unit."""
        amount = super().__new__(cls, ticks)
        amount.unit = unit
        return amount

    def __str__(self) -> str:
        return self.unit.text(int(self))

    def __format__(self, form: str) -> str:
        return format(int(self), form) if form else str(self)

    def __float__(self) -> float:
        return float(self.unit.amount(int(self)))


def amount_of(budget: int, unit: Unit | None) -> int:
    """A budget as it is shown: the number of changes, or money where there is a unit."""
    return budget if unit is None else Amount(budget, unit)
