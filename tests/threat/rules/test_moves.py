"""What can be done to a row, against trying everything."""

import itertools
from decimal import Decimal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hammingbox.data.schema import Feature, Schema
from hammingbox.threat.rules import moves as moves_module
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula
from hammingbox.threat.rules.limits import Limits
from hammingbox.threat.rules.moves import moves_of, size_of
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from toys.shop import rows, shop

CITIES = [["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"]]
FREE = (0, 1, 2, 3, 8)
"""city, country, net, tax, size"""


def rules() -> Rules:
    schema = shop()
    return Rules(
        schema,
        Unit(Decimal(1)),
        (
            ColumnRule("city", price=4),
            ColumnRule("country", price=1),
            ColumnRule("net", up=1, down=2, step=Decimal(1), limits=Limits(most_steps=3)),
            ColumnRule("tax", price=5),
            ColumnRule("size", price=2),
            *(ColumnRule(name, frozen=True) for name in ("ordered", "shipped", "card")),
        ),
        (Determines(schema, ["city"], "country", CITIES), Formula(schema, "total <= 7 or city == 'Rome'")),
        (Derived(schema, "total", formula="net + tax"),),
    )


@settings(max_examples=8)
@given(st.lists(st.integers(0, 1000), min_size=9, max_size=9))
def test_moves_are_all_rows_that_keep_the_rules(seed: list[int]) -> None:
    own = rules()
    schema = shop()
    x = torch.tensor([[n % d for n, d in zip(seed, schema.cardinalities, strict=True)]])
    everything = torch.tensor(list(itertools.product(*(range(schema.cardinalities[c]) for c in FREE))))
    written = x.repeat(len(everything), 1)
    written[:, list(FREE)] = everything
    clean = x.expand_as(written)
    written, exist = own.complete(written, clean)
    bill = own.bill(clean, written)
    inside = exist & own.hold(clean, written) & (bill >= 0).all(1)
    found = moves_of(own, x, FullSpace(schema).candidates(x))
    assert size_of(found) == int(inside.sum())
    assert [each.columns for each in found] == [(0, 1, 2, 3), (5,), (6,), (7,), (8,)], "joined through total"
    joint = inside & (written[:, 8] == x[0, 8]) & (written != x).any(1)
    assert sorted(found[0].ticks.tolist()) == sorted(bill[joint].sum(1).tolist())
    assert found[0].ticks.tolist() == sorted(found[0].ticks.tolist()), "the cheapest first"


def test_a_group_that_is_too_large_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves_module, "MOST_JOINT", 5)
    found = moves_of(rules(), x := rows({}), FullSpace(shop()).candidates(x))
    assert not found[0].is_whole
    assert size_of(found) is None


@pytest.mark.parametrize(("first", "second", "is_whole"), [(2, 100_000, True), (3, 66_667, False)])
def test_two_hundred_thousand_joint_values_are_listed(first: int, second: int, is_whole: bool) -> None:
    features = tuple(
        Feature(name, tuple(map(str, range(size))), "number") for name, size in (("a", first), ("b", second))
    )
    schema = Schema(features, ("no", "yes"))
    x = torch.zeros(1, 2, dtype=torch.int64)
    own = Rules(schema, relations=(Formula(schema, "a + b >= 0"),))
    (found,) = moves_of(own, x, FullSpace(schema).candidates(x))
    assert found.is_whole is is_whole
    assert len(found.rows) == (first * second - 1 if is_whole else 0)
