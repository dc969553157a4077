"""Formulas: what they compute, what they refuse, and that nothing of them is ever executed."""

import contextlib
import re
from datetime import UTC, datetime, timedelta

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.calendar import CALENDAR
from hammingbox.threat.rules.expression import Expression
from hammingbox.threat.rules.formula import comparison
from toys.shop import rows, shop


def holds(formula: str, written: dict[str, str], clean: dict[str, str] | None = None) -> bool:
    expression = Expression(formula, shop())
    both = rows(written, written if clean is None else clean)[:, list(expression.columns)]
    return bool(expression.truth(both[:1], both[1:]).can_hold[0])


@pytest.mark.parametrize(
    ("formula", "row", "wanted"),
    [
        ("net + tax == total", {}, True),
        ("net + tax == total", {"total": "4"}, False),
        ("net + tax == total", {"total": "<missing>"}, True),  # unknown is not broken
        ("known(total) and net + tax == total", {"total": "<missing>"}, False),
        ("ordered <= shipped", {}, True),
        ("ordered < shipped", {"ordered": "2020-03-01"}, False),
        ("days(shipped) - days(ordered) <= 1", {}, True),
        ("days(shipped) - days(ordered) == 2", {"ordered": "2020-02-28"}, True),  # over the leap day
        ("month(shipped) == 3 and day(shipped) == 1 and year(shipped) == 2020", {}, True),
        ("weekday(shipped) == 6", {}, True),
        ('city == "Paris" and "France" == country', {}, True),
        ('city in ["Rome", "Milan"]', {}, False),
        ('city not in ["Rome", "Milan"]', {}, True),
        ("net in [1, 2]", {}, True),
        ('shipped >= "2020-03-01"', {}, True),
        ('"2020-03-01" < shipped', {}, False),
        ('size == "<missing>"', {"size": "<missing>"}, True),
        ("card", {"card": "false"}, False),
        ("card == true", {}, True),
        ("not card or net > 1", {}, True),
        ("1 < net < 3", {}, True),
        ("1 < net < 2", {}, False),
        ("abs(net - total) == tax", {}, True),
        ("max(net, tax, 2) == 2 and min(net, tax) == 1", {}, True),
        ("net / 0 == 1", {}, True),  # no number: unknown
        ("net // 2 == 1 and total % 2 == 1 and floor(net / 3) == 0", {}, True),
        ("-net < 0 and round(net / 3) == 1", {}, True),
        ('col["net"] * 2 == 4', {}, True),
        ("(net > 5 or tax == 1) and not (net > 5 and tax == 1)", {}, True),
    ],
)
def test_what_a_formula_says(formula: str, row: dict[str, str], wanted: bool) -> None:
    assert holds(formula, row) == wanted


def test_clean_and_changed_ask_for_the_row_before() -> None:
    assert holds("net >= clean(net)", {"net": "3"}, {"net": "2"})
    assert not holds("net >= clean(net)", {"net": "1"}, {"net": "2"})
    assert holds("changed(net)", {"net": "1"}, {"net": "2"})
    assert not holds("changed(net) and changed(tax)", {"net": "1"}, {"net": "2"})
    assert not holds("clean(city) == city", {"city": "Rome"}, {"city": "Lyon"})


@pytest.mark.parametrize(
    "formula",
    [
        "", "   ", "1 < 2", "net", "net +", "nets < 1", "net < 1; tax", "net = 1", "lambda: 1", "net ** 2 > 1",
        "__import__('os').system('true')", "net.real > 0", "net[0] > 1", "(net for net in tax)", "print(net)",
        "open('x') == net", "city < 5", "city + 1 > 2", 'city == "Pariss"', 'city < "Paris"', "city == net",
        "month(net) == 1", "changed(net + 1)", "abs(net, tax) > 1", "min(net) > 1", "net in tax", "net in []",
        "f'{net}' == 'a'", "net is 1", "net < 1 if card else 2", "[net] == [1]", "net := 1", "col[0] > 1",
        "net < " + "9" * 400, "net < 1e999 - " + "(" * 300 + "1" + ")" * 300, "net" + " + 1" * 3000 + " > 1",
        "not " * 100 + "card", "'net' < 1", "net == True == b'a'", "max(*net) > 1", "abs(x=net) > 1", "net\x00 > 1",
    ],
)  # fmt: skip
def test_what_is_no_comparison_of_this_table(formula: str) -> None:
    with pytest.raises(InputError, match="expected") as caught:
        comparison(formula, shop())
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("print(net) > 1", "calls print; known are changed, clean, known, year"),
        ("min(net) > 1", "calls min; known are"),
        ("abs(net, tax) > 1", "calls abs; known are"), ("month(net) == 1", "one column of dates"),
        ("known(net, tax)", "something other than one column"), ("net in tax", "no list after in"),
        ("net is 1", "compares with something other than"), ("city < 5", "computes with column 'city'"),
        ("city < country", "compares the size of a text in column 'city'"), ("1 < 2", "names no column"),
        ('"a" < 1', "computes with a text"), ("net < " + "9" * 400, "too large"), ("net", "is a number"),
        ("net ** 2 > 1", "something other than columns, numbers"), ('size > "S"', "compares the size of a text"),
    ],
)  # fmt: skip
def test_the_reason_is_said(formula: str, reason: str) -> None:
    def judge() -> None:
        expression = Expression(formula, shop())
        expression.truth(row := rows({})[:, list(expression.columns)], row)

    with pytest.raises(InputError, match=re.escape(reason)):
        judge()


@given(text=st.text(max_size=60))
def test_any_text_is_a_formula_or_an_error(text: str) -> None:
    with contextlib.suppress(InputError):
        Expression(text, shop())


@given(tenths=st.lists(st.integers(-50, 50), min_size=2, max_size=2))
def test_decimal_sums_are_equal(tenths: list[int]) -> None:
    """0.1 + 0.2 == 0.3, and the next tenth is not equal."""
    a, b = tenths
    texts = sorted({f"{n / 10:.1f}".replace("-0.0", "0.0") for n in range(-101, 102)}, key=float)
    feature = tuple(Feature(name, tuple(texts), "number") for name in "abc")
    schema = Schema(feature, ("x", "y"))
    formula = Expression("a + b == c", schema)
    for off in (0, 1, -1):
        row = torch.tensor([[texts.index(f"{n / 10:.1f}".replace("-0.0", "0.0")) for n in (a, b, a + b + off)]])
        assert bool(formula.truth(row, row).can_hold[0]) == (off == 0)


@given(seconds=st.integers(-60_000_000_000, 60_000_000_000))
def test_the_calendar_is_pythons(seconds: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    wanted = {
        "year": moment.year, "month": moment.month, "day": moment.day, "weekday": moment.weekday(), "hour": moment.hour,
        "minute": moment.minute, "days": seconds // 86_400,
    }  # fmt: skip
    at = torch.tensor([float(seconds)], dtype=torch.float64)
    assert {name: int(part(at)) for name, part in CALENDAR.items()} == wanted
