"""What enumeration settled is kept as a proof, and only that."""

import pytest
import torch

from hammingbox import ATTACKS, Attack, Auto, BlackBox, Dataset, Exhaustive, MaskedSpace, Schema, ThreatModel, evaluate
from toys import ToyVictim, toy_rows


@pytest.fixture
def data(schema: Schema, victim: ToyVictim) -> Dataset:
    x, y = toy_rows(schema, victim, rows=40)
    y[:4] = (y[:4] + 1) % 3
    return Dataset(schema, x, y)


def narrow(data: Dataset) -> MaskedSpace:
    """A space in which some rows of the toy victim cannot be broken."""
    return MaskedSpace(data.schema, immutable=["f2", "f4"])


@pytest.mark.parametrize(
    ("attack", "budget"),
    [(Exhaustive(), 1), (Exhaustive(), 2), (Exhaustive(verdict=True), 2), (Auto(), 1), (Auto(queries=400), 2)],
    ids=repr,
)
def test_a_row_is_broken_or_proven(attack: Attack, budget: int, data: Dataset, victim: ToyVictim) -> None:
    threat = ThreatModel(narrow(data), budget)
    rows = evaluate(victim, data, threat, attack).rows
    assert torch.equal(rows.proven, rows.attacked & ~rows.success)
    assert not rows.unknown.any()
    limit = evaluate(victim, data, threat, Exhaustive()).rows
    assert torch.equal(rows.success, limit.success), "the truth"
    assert rows.proven.any()
    assert rows.success.any()
    assert rows.summary() | {"proven": 0} != rows.summary()


def test_a_black_box_is_settled_at_budget_1(data: Dataset, victim: ToyVictim) -> None:
    box = BlackBox(lambda rows: victim.eval()(torch.from_numpy(rows)).softmax(1).detach().double().numpy())
    rows = evaluate(box, data, ThreatModel(narrow(data), 1), Auto()).rows
    assert torch.equal(rows.proven, rows.attacked & ~rows.success)


@pytest.mark.parametrize("name", [n for n in ATTACKS if n not in ("exhaustive", "oracle", "auto", "pcaa_paper")])
def test_other_attacks_prove_nothing(name: str, data: Dataset, victim: ToyVictim) -> None:
    rows = evaluate(victim, data, ThreatModel(narrow(data), 1), ATTACKS[name]()).rows
    assert not rows.proven.any()
    assert torch.equal(rows.unknown, rows.attacked & ~rows.success)


def test_what_was_not_tried_in_full_is_unknown(data: Dataset, victim: ToyVictim) -> None:
    threat = ThreatModel(narrow(data), 2)
    assert not evaluate(victim, data, threat, Auto()).rows.proven.any(), "auto searches above budget 1"
    starved = evaluate(victim, data, threat, Exhaustive(queries=6)).rows
    assert not starved.proven.any(), "out of queries before the end"
    assert not evaluate(victim, data, threat, Exhaustive(max_passes=5, skip=True)).rows.proven.any()
