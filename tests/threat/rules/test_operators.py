"""Comparisons and arithmetic of formulas: nearly equal numbers are equal, and a text may stand on either side."""

import ast
import operator

import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.threat.rules.expression import Expression
from hammingbox.threat.rules.operators import ARITHMETIC, COMPARISONS, OF_MANY, OF_ONE
from hammingbox.threat.rules.readings import NumberIndex, is_numeric, reading, same

SIGNS = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("kind", SIGNS, ids=lambda kind: SIGNS[kind][0])
def test_comparisons(kind: type) -> None:
    compare, plain = COMPARISONS[kind], SIGNS[kind][1]
    for a, b in ((1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (-1.0, 1.0)):
        assert bool(compare(number(a), number(b))) == plain(a, b)
    for a in (0.1 + 0.2, 0.3 - (0.1 + 0.2 - 0.3)):  # 0.3, a little above and a little below
        assert a != 0.3
        assert bool(compare(number(a), number(0.3))) == plain(0.3, 0.3)


@pytest.mark.parametrize("kind", SIGNS, ids=lambda kind: SIGNS[kind][0])
def test_a_text_may_stand_on_either_side(kind: type) -> None:
    days = ("2020-03-01", "2020-03-02", "2020-03-03")
    schema = Schema((Feature("day", days, "date"),), ("x", "y"))
    sign, plain = SIGNS[kind]
    ids = torch.arange(3)[:, None]
    right, left = (Expression(text, schema) for text in (f'day {sign} "{days[1]}"', f'"{days[1]}" {sign} day'))
    assert right.truth(ids, ids).can_hold.tolist() == [plain(day, days[1]) for day in days]
    assert left.truth(ids, ids).can_hold.tolist() == [plain(days[1], day) for day in days]


def test_arithmetic_is_pythons() -> None:
    plain = {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    }  # fmt: skip
    assert set(plain) == set(ARITHMETIC)
    for kind, wanted in plain.items():
        for a, b in ((7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (1.0, 4.0)):
            assert float(ARITHMETIC[kind](number(a), number(b))) == wanted(a, b)
    assert [float(OF_ONE[name](number(-2.7))) for name in ("abs", "round", "floor")] == [2.7, -3.0, -3.0]
    assert [float(OF_MANY[name](number(1), number(2))) for name in ("min", "max")] == [1.0, 2.0]


def test_equal_up_to_a_billionth() -> None:
    """Relative to the larger of the two, and absolute below 1."""
    for a, b, wanted in (
        (1e12, 1e12 + 900, True), (1e12, 1e12 + 1100, False), (0.0, 0.9e-9, True), (0.0, 1e-9, True),
        (0.0, 1.1e-9, False), (-1e12, -1e12 - 900, True), (1.0, -1.0, False), (0.5, 0.5 + 0.9e-9, True),
        (0.5, 0.5 + 1.1e-9, False),
    ):  # fmt: skip
        assert bool(same(number(a), number(b))) == wanted == bool(same(number(b), number(a)))


def test_the_category_of_a_number() -> None:
    index = NumberIndex(Feature("n", ("0.1", "0.3", "5", "<missing>"), "number"))
    numbers = torch.tensor(
        [[0.1, 0.1 + 0.2, 5.0], [-1.0, 0.2, 6.0], [4.999, torch.nan, 5.0 + 1e-10]], dtype=torch.float64
    )
    assert index.ids(numbers).tolist() == [[0, 1, 2], [-1, -1, -1], [-1, -1, 2]]
    assert NumberIndex(Feature("city", ("Rome", "Paris"))).ids(numbers).unique().tolist() == [-1]


def test_which_columns_are_numbers() -> None:
    assert is_numeric(Feature("n", ("1", "2", "<missing>")))
    assert not is_numeric(Feature("n", ("1", "two")))
    assert not is_numeric(Feature("n", ("<missing>", "<unknown>")))
    assert is_numeric(Feature("d", ("2020-01-01", "2020-01-02"), "date"))
    assert reading(Feature("n", ("2", "1", "<missing>"))).nan_to_num(-1).tolist() == [2.0, 1.0, -1.0]
