"""Certificates where changes have prices and columns depend on each other, against all rows that the rules allow."""

import pytest
import torch

import hammingbox as hb
from hammingbox.certificates import CERTIFICATES, Exact
from hammingbox.errors import InputError
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
