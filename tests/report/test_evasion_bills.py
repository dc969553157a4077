"""What evasion costs: bills that add up, the cheapest per row, losses and prices to raise."""

from decimal import Decimal

import pytest
import torch
from torch import Tensor

from hammingbox.attacks import Exhaustive
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.report.breakdown import WhatIf, by_feature
from hammingbox.report.evasion_bills import EvasionBills, evasion_bills
from hammingbox.report.recommendations import recommendations
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from hammingbox.report.summary import VictimSummary
from hammingbox.running.evaluate import evaluate
from hammingbox.threat.amount import Amount
from hammingbox.threat.goal import Direction
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

EURO = Unit(Decimal("0.1"), "EUR")
SCHEMA = Schema(
    (
        Feature("device", ("a", "b")),
        Feature("phone", ("no", "yes")),
        Feature("limit", ("100", "200"), "number"),
    ),
    ("ok", "fraud"),
)
RULES = Rules(
    SCHEMA,
    unit=EURO,
    columns=(ColumnRule("device", price=1), ColumnRule("phone", price=100), ColumnRule("limit", frozen=True)),
    gain=Gain(column="limit"),
)


class Rule(Victim):
    """Fraud unless the phone is valid; the device `b` alone is believed for small limits."""

    def embed(self, ids: Tensor) -> Tensor:
        return ids.float()[:, :, None]

    def head(self, embedded: Tensor, ids: Tensor) -> Tensor:
        device, phone, limit = embedded[:, :, 0].unbind(1)
        fine = ((phone == 1) | ((device == 1) & (limit == 0))).float()
        return torch.stack([fine, 1 - fine], 1) * 4


def _facts(budget: int, *, planned: int) -> RunFacts:
    return RunFacts(
        victim="rule", attack="exhaustive", name="exhaustive", settings="", budget=Amount(budget, EURO), seed=0,
        planned=planned,
    )  # fmt: skip


def results() -> ResultSet:
    """Three frauds: one of a small limit, one of a large one, and one that is taken for ok before any attack."""
    data = Dataset(SCHEMA, torch.tensor([[0, 0, 0], [0, 0, 1], [0, 1, 1]]), torch.tensor([1, 1, 1]), "bank")
    found = ResultSet("bank", SCHEMA, rules=RULES)
    for budget in (5, 100):
        threat = ThreatModel(RuledSpace(FullSpace(SCHEMA), RULES), budget)
        rows = evaluate(Rule(), data, threat, Exhaustive(), goal=Direction("fraud", "ok")).rows
        found.add(_facts(budget, planned=3), rows)
    return found


@pytest.fixture(scope="module")
def money() -> EvasionBills:
    found = evasion_bills(results(), "rule")
    assert found is not None
    return found


def test_each_row_has_its_cheapest_evasion_with_a_bill_that_adds_up(money: EvasionBills) -> None:
    assert [(bill.number, str(bill.cost)) for bill in money.bills] == [(0, "0.1 EUR"), (1, "10 EUR")]
    assert all(bill.cost == sum(item.price for item in bill.items) for bill in money.bills)
    first = money.bills[0]
    assert [(item.column, item.before, item.after) for item in first.items] == [("device", "a", "b")]
    assert (first.label, first.taken_for, str(first.worth)) == ("fraud", "ok", "100 EUR")


def test_success_against_cost(money: EvasionBills) -> None:
    assert money.attacked == 2
    assert [(str(cost), rows) for cost, rows in money.curve] == [("0.1 EUR", 1), ("10 EUR", 2)]
    assert str(money.median) == "0.1 EUR"


def test_losses_weigh_rows_by_what_they_are_worth(money: EvasionBills) -> None:
    lost = [(str(line.budget), str(line.evaded), str(line.missed), str(line.total)) for line in money.losses]
    assert lost == [("0.5 EUR", "100 EUR", "200 EUR", "500 EUR"), ("10 EUR", "300 EUR", "200 EUR", "500 EUR")]
    assert [line.share for line in money.losses] == [pytest.approx(0.6), pytest.approx(1.0)]


def test_the_price_to_raise_is_the_one_without_a_way_around(money: EvasionBills) -> None:
    lines = {line.column: (line.rows, str(line.paid), line.stopped) for line in money.columns}
    # With 10 EUR the first row has a second way: a phone number. The second row has no other.
    assert lines["phone"] == (1, "10 EUR", 1)
    assert lines["device"][0] == 1
    assert "limit" not in lines


def test_without_prices_there_are_no_bills() -> None:
    assert evasion_bills(ResultSet("bank", SCHEMA), "rule") is None


def test_rows_that_the_threat_spares_count_as_not_lost() -> None:
    """Two frauds are caught, one of which the threat leaves no change; the third is missed."""
    ids, labels = torch.tensor([[0, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0]]), torch.tensor([1, 1, 1, 0])
    goal = Direction("fraud", "ok")
    found = ResultSet("bank", SCHEMA, rules=RULES, goal="fraud -> ok", aim=goal)
    base = MaskedSpace(SCHEMA, forbidden={"device": ["b"], "phone": ["yes"]})
    rows = evaluate(
        Rule(), Dataset(SCHEMA, ids, labels, "bank"), ThreatModel(RuledSpace(base, RULES), 5), Exhaustive(), goal=goal
    ).rows
    assert rows.attacked.tolist() == [False, True, False, False]
    found.add(_facts(5, planned=4), rows)
    money = evasion_bills(found, "rule")
    assert money is not None
    (line,) = money.losses
    assert [str(part) for part in (line.evaded, line.missed, line.total)] == ["0 EUR", "200 EUR", "500 EUR"]
    assert line.share == pytest.approx(0.4)


def test_what_to_train_against_is_said_in_money() -> None:
    summary = VictimSummary(results(), "rule")
    (train,) = [one for one in recommendations(summary, by_feature(summary.results, "rule"), WhatIf("", {}, ()))
                if one.kind == "train"]  # fmt: skip
    assert "fall to changes that cost at most 0.5 EUR" in train.text
    assert "hammingbox defend --threat threat.toml --budget 0.5)" in train.text
