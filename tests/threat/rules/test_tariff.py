"""What changes of one column cost: checked against a few lines of plain Python for every pair of categories."""

import math
from decimal import Decimal
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError
from hammingbox.threat.rules.limits import Limits
from hammingbox.threat.rules.prices import ANY, CANNOT, ColumnRule
from hammingbox.threat.rules.tariff import Tariff
from toys.shop import every_pair, shop

SIZE = Feature("size", ("small", "medium", "large", "<missing>"))
NUMBER = Feature("n", ("0.1", "0.2", "0.3", "1", "2.5", "<missing>"), "number")
DATE = Feature("d", ("2020-02-28", "2020-02-29", "2020-03-01", "2020-03-08"), "date")


def prices(rule: ColumnRule, feature: Feature, *, priced: bool = True) -> list[list[int]]:
    found: list[list[int]] = Tariff(rule, feature, priced=priced).ticks(*every_pair(len(feature.categories))).tolist()
    return found


def test_a_flat_price() -> None:
    assert prices(ColumnRule("size", price=5), SIZE)[1] == [5, 0, 5, 5]
    assert prices(ColumnRule("size", price=CANNOT), SIZE)[1] == [CANNOT, 0, CANNOT, CANNOT]
    assert prices(ColumnRule("size", frozen=True), SIZE)[0] == [0, CANNOT, CANNOT, CANNOT]


def test_the_most_exact_price_counts() -> None:
    rule = ColumnRule(
        "size",
        price=1,
        write={"large": 2, "<missing>": CANNOT},
        pairs=(("small", "large", 7), ("medium", ANY, 4), (ANY, "small", 3), ("large", "medium", CANNOT)),
    )
    assert prices(rule, SIZE) == [
        [0, 1, 7, CANNOT],
        [3, 0, 4, 4],
        [3, CANNOT, 0, CANNOT],
        [3, 1, 2, 0],
    ]


def test_steps_of_categories() -> None:
    rule = ColumnRule("size", up=2, down=CANNOT)
    assert prices(rule, SIZE)[0] == [0, 2, 4, CANNOT], "an empty cell has no place in the order"
    assert prices(rule, SIZE)[1] == [CANNOT, 0, 2, CANNOT]
    assert prices(rule, SIZE)[3] == [CANNOT, CANNOT, CANNOT, 0]
    other = ColumnRule("size", up=1, down=3, order=("large", "small"), write={"medium": 9})
    assert prices(other, SIZE)[0] == [0, 9, 3, CANNOT]


def test_a_part_of_a_step_costs_a_whole_one_and_tenths_are_exact() -> None:
    rule = ColumnRule("n", up=1, down=5, step=Decimal("0.1"))
    assert prices(rule, NUMBER)[0] == [0, 1, 2, 9, 24, CANNOT], "0.3 - 0.1 is two steps of 0.1"
    assert prices(rule, NUMBER)[2] == [10, 5, 0, 7, 22, CANNOT]
    assert prices(ColumnRule("n", up=1, down=1, step=Decimal(1)), NUMBER)[0] == [0, 1, 1, 1, 3, CANNOT]
    assert prices(ColumnRule("d", up=1, down=2, step=Decimal(7)), DATE)[1] == [2, 0, 1, 2]


@pytest.mark.parametrize(
    ("limits", "own", "allowed"),
    [
        (Limits(direction="grows"), "0.2", {"0.3", "1", "2.5"}),
        (Limits(direction="shrinks"), "0.3", {"0.1", "0.2"}),
        (Limits(direction="grows"), "<missing>", set()),
        (Limits(range=("0.2", "1")), "2.5", {"0.2", "0.3", "1"}),
        (Limits(range=(None, "0.2")), "<missing>", {"0.1", "0.2"}),
        (Limits(relative=Decimal("0.5")), "0.2", {"0.1", "0.3"}),
        (Limits(direction="shrinks", range=("0.2", None)), "1", {"0.2", "0.3"}),
    ],
)
def test_limits_of_numbers(limits: Limits, own: str, allowed: set[str]) -> None:
    found = prices(ColumnRule("n", limits=limits), NUMBER, priced=False)[NUMBER.categories.index(own)]
    assert {t for t, p in zip(NUMBER.categories, found, strict=True) if p == 1} == allowed
    assert found[NUMBER.categories.index(own)] == 0, "a clean value is always allowed"


def test_a_number_of_steps_and_a_window() -> None:
    assert prices(ColumnRule("size", limits=Limits(most_steps=1)), SIZE, priced=False)[0] == [0, 1, CANNOT, CANNOT]
    by_window = ColumnRule("d", limits=Limits(window=(1, 7)))
    assert prices(by_window, DATE, priced=False) == [
        [0, 1, 1, CANNOT], [1, 0, 1, CANNOT], [CANNOT, 1, 0, 1], [CANNOT, CANNOT, CANNOT, 0],
    ]  # fmt: skip
    stepped = ColumnRule("d", step=Decimal(1), limits=Limits(most_steps=2))
    assert prices(stepped, DATE, priced=False)[0] == [0, 1, 1, CANNOT], "2020 has a leap day"


@given(data=st.data())
def test_a_large_column_is_priced_like_a_small_one(data: st.DataObject) -> None:
    """Above some cardinality there is no table of pairs; the prices are the same."""
    size = 600
    feature = Feature("n", tuple(str(n) for n in range(size)), "number")
    up, down = data.draw(st.integers(0, 9)), data.draw(st.sampled_from([CANNOT, 0, 3]))
    step = data.draw(st.sampled_from([1, 7, 50]))
    most = data.draw(st.sampled_from([None, 1, 5]))
    pairs = tuple(
        data.draw(
            st.dictionaries(st.tuples(st.integers(0, 599), st.integers(0, 599)), st.integers(0, 9), max_size=4)
        ).items()
    )
    rule = ColumnRule(
        "n", up=up, down=down, step=Decimal(step), limits=Limits(most_steps=most),
        pairs=tuple((str(a), str(b), p) for (a, b), p in pairs),
    )  # fmt: skip
    points = data.draw(st.lists(st.tuples(st.integers(0, 599), st.integers(0, 599)), min_size=1, max_size=20))
    points += [pair for pair, _ in pairs]
    own, to = (torch.tensor(side) for side in zip(*points, strict=True))
    found = Tariff(rule, feature, priced=True).ticks(own, to).tolist()
    for (a, b), price in zip(points, found, strict=True):
        steps = math.ceil(abs(b - a) / step)
        each = up if b > a else down
        wanted = CANNOT if each == CANNOT else each * steps
        wanted = dict(pairs).get((a, b), wanted)
        wanted = CANNOT if most is not None and steps > most else wanted
        assert price == (0 if a == b else wanted)


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"price": -5}, "size", "at least 0"),
    ({"price": 1, "frozen": True}, "size", "frozen column"),
    ({"price": 1, "up": 1}, "size", "price or up"),
    ({"up": 1}, "size", "no price for steps down"),
    ({"up": 1, "down": 1, "limits": Limits(direction="grows")}, "size", "without a price for steps down"),
    ({"write": {"lareg": 1}, "price": 1}, "size", "Did you mean 'large'"),
    ({"pairs": (("small", "hug", 1),), "price": 1}, "size", "expected a category"),
    ({"write": {"large": 1}}, "size", "price for every change"),
    ({}, "size", "price for every change"),
    ({"up": 1, "down": 1}, "net", "size of a step"),
    ({"up": 1, "down": 1, "step": Decimal(1)}, "size", "step only in columns of numbers"),
    ({"price": 1, "order": ("1", "2")}, "net", "order only in columns of categories"),
    ({"up": 1, "down": 1, "order": ("small", "small")}, "size", "once in its order"),
    ({"price": 1, "limits": Limits(range=("5", "2"))}, "net", "from low to high"),
    ({"price": 1, "limits": Limits(range=("50", "60"))}, "net", "some value of column"),
    ({"price": 1, "limits": Limits(range=("a", "b"))}, "net", "as bound"),
    ({"price": 1, "limits": Limits(range=("a", "b"))}, "size", "range only in columns of numbers"),
    ({"price": 1, "limits": Limits(window=(1, 1))}, "net", "window only in columns of dates"),
    ({"price": 1, "limits": Limits(relative=Decimal(1))}, "ordered", "relative only in columns of numbers"),
    ({"price": 1, "limits": Limits(direction="grows", range=(None, "0"))}, "net", "allow none"),
    ({"price": 1, "pairs": (("small", "large", 1), ("small", "large", 2))}, "size", "twice"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "column", "message"), BAD)
def test_a_rule_that_contradicts_itself_or_its_column(entries: dict[str, Any], column: str, message: str) -> None:
    feature = next(feature for feature in shop().features if feature.name == column)
    with pytest.raises(InputError, match=message):
        Tariff(ColumnRule(column, **entries), feature, priced=True)


@pytest.mark.parametrize("entries", [{"price": 1}, {"up": 1, "down": 1}, {"write": {"small": 2}}])
def test_prices_need_a_unit(entries: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="without a unit"):
        Tariff(ColumnRule("size", **entries), SIZE, priced=False)


@pytest.mark.parametrize(
    "limits",
    [{"direction": "up"}, {"most_steps": 0}, {"relative": Decimal(0)}, {"window": (0, 0)}, {"window": (-1, 1)}],
)
def test_a_limit_that_is_none(limits: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected"):
        Limits(**limits)
