"""Ticks: whole numbers, so that sums are exact."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.errors import InputError
from hammingbox.threat.rules.unit import MOST_TICKS, Unit, decimal_of

EURO = Unit(Decimal("0.1"), "EUR")


@pytest.mark.parametrize(
    ("amount", "ticks"), [("0.2", 2), (0.1, 1), (10, 100), (Decimal(30), 300), (0, 0), ("1e1", 100)]
)
def test_amounts_are_whole_ticks(amount: str | float | int | Decimal, ticks: int) -> None:
    assert EURO.ticks(amount) == ticks


def test_a_sum_of_tenths_is_exact() -> None:
    assert sum(EURO.ticks(0.1) for _ in range(10)) == EURO.ticks(1)


@given(ticks=st.integers(0, MOST_TICKS), places=st.integers(0, 6))
def test_ticks_come_back(ticks: int, places: int) -> None:
    unit = Unit(Decimal(1).scaleb(-places), "EUR")
    assert unit.ticks(unit.amount(ticks)) == ticks
    assert unit.ticks(unit.text(ticks).removesuffix(" EUR")) == ticks


@pytest.mark.parametrize("amount", [-1, "-0.1", 0.05, "nan", "inf", "many", True, 1e300, "1e-30", None, [1]])
def test_what_is_no_whole_number_of_ticks_is_refused(amount: object) -> None:
    with pytest.raises(InputError, match="expected"):
        EURO.ticks(amount)


@pytest.mark.parametrize("tick", [0, -1, "nan", "", True, None, "1e-50"])
def test_a_unit_is_a_positive_amount(tick: object) -> None:
    with pytest.raises(InputError, match="positive amount as unit"):
        Unit.of(tick)


def test_a_unit_is_stored_exactly() -> None:
    assert Unit.from_json(EURO.to_json()) == EURO
    assert EURO.text(2) == "0.2 EUR"
    assert Unit.of("5").text(2) == "10", "no currency"


def test_the_most_and_the_smallest_amounts() -> None:
    assert MOST_TICKS == 1_099_511_627_776
    assert Unit.of(1).ticks(MOST_TICKS) == MOST_TICKS
    with pytest.raises(InputError, match="Choose a larger unit"):
        Unit.of(1).ticks(MOST_TICKS + 1)
    for fits, too_much in (("9e20", "1e21"), ("1e-20", "9e-21"), ("1" * 15, "1" * 16), ("-9e20", "-1e21")):
        assert decimal_of(fits) == Decimal(fits)
        assert decimal_of(too_much) is None
    assert decimal_of("0e99") == 0, "nothing is nothing, however it is written"
    assert decimal_of(0.1) == Decimal("0.1")
    with pytest.raises(InputError, match="positive amount"):
        Unit(Decimal(0))
    assert EURO.text(0) == "0 EUR"
