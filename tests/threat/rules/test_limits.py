"""Limits exactly at their bounds."""

from decimal import Decimal
from typing import Any

import pytest
import torch

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError
from hammingbox.threat.rules.limits import Limits, places_in_order

AMOUNT = Feature("amount", ("-100", "0", "90", "100", "110", "111", "<missing>"), "number")
FEW = Feature("few", ("1", "2", "3"))  # few numbers are categories
DATE = Feature("date", ("2020-03-01", "2020-03-04", "2020-03-05"), "date")


def allowed(limits: Limits, clean: float, *written: float, feature: Feature = AMOUNT) -> list[bool]:
    own = torch.tensor([clean], dtype=torch.float64)
    found: list[bool] = limits.allow(own, torch.tensor(written, dtype=torch.float64), feature).tolist()
    return found


def test_a_relative_change_includes_its_bound() -> None:
    tenth = Limits(relative=Decimal("0.1"))
    assert allowed(tenth, 100, 89.9, 90, 110, 110.1) == [False, True, True, False]
    assert allowed(tenth, -100, -110.1, -110, -90, -89.9) == [False, True, True, False]
    assert allowed(tenth, 0.3, 0.27, 0.33, 0.3301) == [True, True, False], "tenths are not exact"
    assert allowed(tenth, 0, 0, 0.001) == [True, False]


def test_a_range_includes_its_ends() -> None:
    assert allowed(Limits(range=("90", "110")), 0, 89.9, 90, 110, 110.1) == [False, True, True, False]
    assert allowed(Limits(range=(None, "90")), 0, -1e9, 90, 91) == [True, True, False]
    assert allowed(Limits(range=("90", None)), 0, 89, 90, 1e9) == [False, True, True]
    assert allowed(Limits(), 0, 1e9) == [True]


def test_a_window_is_days_before_and_after() -> None:
    day = 86_400.0
    limits = Limits(window=(1, 3))
    wanted = [False, True, True, False]
    assert allowed(limits, 10 * day, 8.9 * day, 9 * day, 13 * day, 13.1 * day, feature=DATE) == wanted
    assert allowed(Limits(window=(0, 1)), 0, -1, 0, day, day + 1, feature=DATE) == wanted


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"most_steps": True}, "most_steps"), ({"most_steps": -1}, "most_steps"), ({"relative": Decimal(-1)}, "rel"),
        ({"window": (True, 1)}, "window"), ({"window": (0, -1)}, "window"), ({"direction": ""}, "direction"),
    ],
)  # fmt: skip
def test_settings_that_are_none(limits: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"expected {words}"):
        Limits(**limits)


def test_the_least_settings_that_are_some() -> None:
    for limits in (
        Limits(most_steps=1),
        Limits(window=(0, 1)),
        Limits(window=(1, 0)),
        Limits(relative=Decimal("0.01")),
    ):
        assert limits.compares
    assert Limits(direction="grows").compares
    assert not Limits(range=("1", "2")).compares


def test_a_range_may_be_one_value_and_must_hold_one() -> None:
    Limits(range=("100", "100")).check(AMOUNT)
    Limits(range=("110.5", "111")).check(AMOUNT)
    Limits(range=("111", "112")).check(AMOUNT)
    for empty in (("100.5", "109.5"), ("111.5", None), (None, "-100.5")):
        with pytest.raises(InputError, match="some value of column 'amount'"):
            Limits(range=empty).check(AMOUNT)
    with pytest.raises(InputError, match="from low to high"):
        Limits(range=("100", "90")).check(AMOUNT)


def test_what_suits_a_column() -> None:
    Limits(range=("1", "2"), relative=Decimal(1)).check(FEW)  # categories that are numbers
    assert Limits(range=("1", None)).bounds(FEW) == (1.0, torch.inf)
    assert Limits(range=("1970-01-01", "1970-01-02")).bounds(DATE) == (0.0, 86_400.0)
    assert Limits().bounds(AMOUNT) == (-torch.inf, torch.inf)
    Limits(window=(1, 1)).check(DATE)
    for limits, feature, words in (
        (Limits(window=(1, 1)), FEW, "window only"),
        (Limits(relative=Decimal(1)), DATE, "relative only"),
        (Limits(relative=Decimal(1)), Feature("city", ("Paris", "Rome")), "relative only"),
        (Limits(range=("many", None)), AMOUNT, "expected a number as bound"),
        (Limits(range=(None, "1")), DATE, "expected a date as bound"),
    ):
        with pytest.raises(InputError, match=words):
            limits.check(feature)


def test_places_in_an_order() -> None:
    size = Feature("size", ("small", "<missing>", "medium", "<unknown>", "large"))
    assert places_in_order(size, ()).nan_to_num(-1).tolist() == [0, -1, 1, -1, 2]
    assert places_in_order(size, ("large", "small")).nan_to_num(-1).tolist() == [1, -1, -1, -1, 0]
    with pytest.raises(InputError, match="Did you mean 'small'"):
        places_in_order(size, ("smal",))
