"""Certificates where changes have prices and columns depend on each other, against all rows that the rules allow."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
import torch

import hammingbox as hb
from hammingbox.certificates import CERTIFICATES, Exact
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.zoo.linear import Linear
from toys import untargeted
from toys.prices import SPACES, allowed_rows, priced_rows, priced_victim

BUDGETS = {"relations alone": 3}


def _cheapest(space: str, budget: int, rows: int) -> list[int]:
    """What the cheapest row that breaks each row costs, of all that the rules allow; budget + 1 if there is none."""
    place, victim = SPACES[space], priced_victim().eval()
    found = []
    for row, label in zip(*priced_rows(victim, rows), strict=True):
        points = allowed_rows(place, row, budget)
        broken = untargeted(label.expand(len(points))).margin(victim(points)) > 0
        costs = place.cost(row.expand(len(points), -1), points)[broken]
        found.append(int(costs.min()) if len(costs) else budget + 1)
    return found


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("method", ["exact", "auto"])
def test_the_radius_is_the_largest_cost_that_breaks_nothing(method: str, space: str) -> None:
    victim, budget = priced_victim(), BUDGETS.get(space, 12)
    x, y = priced_rows(victim, 10)
    cheapest = torch.tensor(_cheapest(space, budget, 10))
    found = CERTIFICATES[method]()(victim, x, y, ThreatModel(SPACES[space], budget))
    assert found.radius.tolist() == (cheapest - 1).tolist()
    assert torch.equal(found.broken, cheapest <= budget)
    assert torch.equal(found.proven, cheapest > budget)
    assert found.cost[found.broken].tolist() == cheapest[found.broken].tolist()
    assert torch.equal(found.distance, SPACES[space].distance(x, found.ids))
    assert bool(SPACES[space].rules.hold(x, found.ids).all())


def test_too_many_points_leave_a_row_unknown() -> None:
    victim = priced_victim()
    x, y = priced_rows(victim, 10)
    found = Exact(max_passes=5)(victim, x, y, ThreatModel(SPACES["prices"], 12))
    assert bool(found.unknown.any())
    assert found.radius[found.unknown].unique().tolist() == [0]


def test_methods_that_count_changes_are_refused() -> None:
    victim = Linear(SPACES["prices"].schema.cardinalities, 3)
    x, y = priced_rows(victim.eval(), 3)
    with pytest.raises(InputError, match=r"without prices and relations for Additive\(\), got one .* Use exact"):
        CERTIFICATES["additive"]()(victim, x, y, ThreatModel(SPACES["prices"], 12))


def test_certified_accuracy_by_cost() -> None:
    space, victim = SPACES["prices"], priced_victim()
    x, y = priced_rows(victim, 10)
    data = hb.Dataset(space.schema, x, y, "toys")
    found = hb.certify(victim, data, ThreatModel(space, 12))
    cheapest = torch.tensor(_cheapest("prices", 12, 10))
    for budget in range(13):
        assert found.certified(budget).hits == found.attacked(budget).hits == int((cheapest > budget).sum())
    assert [line["budget"] for line in found.summary()["by_budget"]] == [0, 12]


BITS = Schema(tuple(Feature(name, ("0", "1")) for name in "abc"), ("ok", "bad"))
TENTH = hb.Unit(Decimal("0.1"), "EUR")
CLEAN, OK = torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)


def _bad_if(wanted: Callable[[np.ndarray], np.ndarray]) -> hb.BlackBox:
    """A model that calls the rows bad of which `wanted` is true."""
    return hb.BlackBox(lambda rows: np.where(wanted(rows)[:, None], [[0.0, 1.0]], [[1.0, 0.0]]))


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_tied_columns_count_one_by_one(method: str) -> None:
    """Three columns that change together are one choice, and three changes."""
    rules = hb.Rules(BITS, relations=(Combinations(BITS, list("abc"), [["0"] * 3, ["1"] * 3]),))
    space, victim = hb.RuledSpace(hb.FullSpace(BITS), rules), _bad_if(lambda rows: rows.sum(1) == 3)
    for budget in (1, 2, 3):
        found = CERTIFICATES[method]()(victim, CLEAN, OK, ThreatModel(space, budget))
        attacked = hb.Exhaustive()(victim, CLEAN, OK, ThreatModel(space, budget))
        assert found.broken.tolist() == attacked.success.tolist() == [budget == 3]
        assert found.radius.tolist() == [min(budget, 2)]


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_a_free_change_breaks_a_row_at_every_budget(method: str) -> None:
    columns = (ColumnRule("a", price=0), ColumnRule("b", price=3), ColumnRule("c", frozen=True))
    space = hb.RuledSpace(hb.FullSpace(BITS), hb.Rules(BITS, unit=TENTH, columns=columns))
    by_a, by_b = _bad_if(lambda rows: rows[:, 0] == 1), _bad_if(lambda rows: rows[:, 1] == 1)
    for budget in (0, 2, 5):
        threat = ThreatModel(space, budget)
        found = CERTIFICATES[method]()(by_a, CLEAN, OK, threat)
        assert (found.status, found.radius.tolist(), found.cost.tolist()) == (("broken",), [-1], [0])
        assert hb.Auto()(by_a, CLEAN, OK, threat).success.tolist() == [True]
        found = CERTIFICATES[method]()(by_b, CLEAN, OK, threat)
        assert found.status == ("broken" if budget == 5 else "proven",)
        assert found.radius.tolist() == [min(budget, 2)]


@pytest.mark.parametrize("value", [30_000, 35_000])
def test_columns_of_more_values_than_two_bytes_number(value: int) -> None:
    amounts = Feature("amount", tuple(str(number) for number in range(40_000)), "number")
    schema = Schema((amounts, Feature("b", ("0", "1"))), ("ok", "bad"))
    columns = (ColumnRule("amount", up=1, down=1, step=Decimal(1)), ColumnRule("b", price=1))
    threat = ThreatModel(hb.RuledSpace(hb.FullSpace(schema), hb.Rules(schema, unit=TENTH, columns=columns)), 5)
    victim, row = _bad_if(lambda rows: rows[:, 0] > value + 3), torch.tensor([[value, 0]])
    for attack in (hb.Auto(), hb.Exhaustive(), hb.ATTACKS["oracle"]()):
        assert attack(victim, row, OK, threat).ids[0, 0] > value + 3
    assert CERTIFICATES["auto"]()(victim, row, OK, threat).status == ("broken",)
