"""The rule of one column: what contradicts itself, what is enough, and what is stored."""

import json
from decimal import Decimal
from typing import Any

import pytest

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError
from hammingbox.threat.rules.limits import Limits
from hammingbox.threat.rules.prices import ANY, CANNOT, ColumnRule
from hammingbox.threat.rules.tariff import Tariff
from hammingbox.threat.rules.unit import MOST_TICKS

SIZE = Feature("size", ("S", "M", "L"))
NUMBER = Feature("n", ("1", "2", "3"), "number")


def test_prices_up_to_the_largest_amount() -> None:
    for price in (CANNOT, 0, MOST_TICKS):
        for entries in (
            {"price": price},
            {"up": price, "down": 0},
            {"write": {"S": price}},
            {"pairs": (("S", "M", price),)},
        ):
            ColumnRule("size", **entries)
    for price in (CANNOT - 1, MOST_TICKS + 1, True):
        for entries in (
            {"price": price},
            {"up": 0, "down": price},
            {"write": {"S": price}},
            {"pairs": (("S", "M", price),)},
        ):
            with pytest.raises(InputError, match="prices of at least 0"):
                ColumnRule("size", **entries)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"frozen": True, "price": 1}, "frozen"), ({"frozen": True, "limits": Limits(direction="grows")}, "frozen"),
        ({"frozen": True, "write": {"S": 1}}, "frozen"), ({"frozen": True, "pairs": (("S", "M", 1),)}, "frozen"),
        ({"price": 1, "down": 1}, "price or up"), ({"step": Decimal(0), "price": 1}, "positive step"),
        ({"step": Decimal(-1), "price": 1}, "positive step"), ({"down": 1}, "no price for steps up"),
        ({"up": 1, "down": 1, "limits": Limits(direction="shrinks")}, "without a price for steps up"),
        ({"up": CANNOT, "limits": Limits(direction="shrinks")}, "no price for steps down"),
    ],
)  # fmt: skip
def test_entries_that_contradict_each_other(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ColumnRule("size", **entries)


def test_a_direction_needs_no_price_against_it() -> None:
    ColumnRule("size", up=1, limits=Limits(direction="grows"))
    ColumnRule("size", down=1, limits=Limits(direction="shrinks"))
    ColumnRule("size", up=1, down=CANNOT, limits=Limits(direction="grows"))
    ColumnRule("size", frozen=True)


@pytest.mark.parametrize(
    ("entries", "is_enough"),
    [
        ({"write": {"S": 1, "M": 1, "L": 1}}, True),
        ({"write": {"S": 1, "M": 1}}, False),
        ({"write": {"S": 1, "M": 1}, "pairs": ((ANY, "L", 1),)}, True),
        ({"pairs": (("S", ANY, 1), ("M", ANY, 1), ("L", ANY, 1))}, True),
        ({"pairs": (("S", ANY, 1), ("M", ANY, 1), (ANY, "L", 1))}, False),
        ({"pairs": ((ANY, ANY, 1),)}, True),
        ({"pairs": (("S", "M", 1), ("M", "L", 1), ("L", "S", 1))}, False),
        ({"up": 1, "down": 1}, True), ({"price": 0}, True), ({"frozen": True}, True), ({}, False),
    ],
)  # fmt: skip
def test_every_change_needs_a_price(entries: dict[str, Any], is_enough: bool) -> None:
    rule = ColumnRule("size", **entries)
    if is_enough:
        rule.check(SIZE, priced=True)
        return
    with pytest.raises(InputError, match="price for every change"):
        rule.check(SIZE, priced=True)


def test_what_counts_as_priced_stepped_and_uniform() -> None:
    for rule, priced, stepped, uniform in (
        (ColumnRule("size"), False, False, True), (ColumnRule("size", price=0), True, False, True),
        (ColumnRule("size", up=1, down=0), True, True, False), (ColumnRule("size", write={"S": 0}), True, False, False),
        (ColumnRule("size", pairs=(("S", "M", 0),)), True, False, False),
        (ColumnRule("size", frozen=True), False, False, True),
        (ColumnRule("size", limits=Limits(direction="grows")), False, False, False),
        (ColumnRule("size", down=1, limits=Limits(direction="shrinks")), True, True, False),
    ):  # fmt: skip
        assert (rule.is_priced, rule.is_stepped, rule.is_uniform) == (priced, stepped, uniform), rule


def test_steps_of_numbers_need_a_size_and_nothing_else_does() -> None:
    for rule in (ColumnRule("n", up=1, down=1), ColumnRule("n", price=1, limits=Limits(most_steps=1))):
        with pytest.raises(InputError, match="size of a step"):
            rule.check(NUMBER, priced=True)
    ColumnRule("n", price=1).check(NUMBER, priced=True)
    ColumnRule("size", up=1, down=1).check(SIZE, priced=True)
    ColumnRule("size", price=CANNOT).check(SIZE, priced=False)
    with pytest.raises(InputError, match="got up or down"):
        ColumnRule("size", up=CANNOT, down=CANNOT).check(SIZE, priced=False)


def test_a_pair_of_anything_is_a_flat_price() -> None:
    table = Tariff(ColumnRule("size", pairs=((ANY, ANY, 4), ("S", "M", 1))), SIZE, priced=True)
    assert [int(table._table[i]) for i in range(9)] == [0, 1, 4, 4, 0, 4, 4, 4, 0]


def test_what_is_dearer_than_any_amount_cannot_be_written() -> None:
    far = Feature("n", ("0", "1", "2", "3"), "number")
    rule = ColumnRule("n", up=MOST_TICKS // 2, down=0, step=Decimal(1))
    assert Tariff(rule, far, priced=True)._table[:4].tolist() == [0, MOST_TICKS // 2, MOST_TICKS, CANNOT]


@pytest.mark.parametrize(
    "rule",
    [
        ColumnRule("n", frozen=True), ColumnRule("n", price=0), ColumnRule("n"),
        ColumnRule("n", up=0, down=CANNOT, step=Decimal("0.10"), order=("S", "L"), write={"S": 2}),
        ColumnRule("n", pairs=(("S", ANY, 0), (ANY, "L", CANNOT))),
        ColumnRule("n", price=3, limits=Limits("grows", 2, (None, "5"), Decimal("0.5"), (0, 3))),
    ],
)  # fmt: skip
def test_a_stored_rule_is_the_same(rule: ColumnRule) -> None:
    stored = json.loads(json.dumps(rule.to_json()))
    assert ColumnRule.from_json("n", stored) == rule
    stated = [name for name in ("price", "up", "down", "step") if getattr(rule, name) is not None]
    assert set(stated) <= set(stored), "a price of 0 is a price"
