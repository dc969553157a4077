"""One batch of a certification: which rows are certified at all, and what is recorded about the others."""

import pytest
import torch

import hammingbox as hb
from hammingbox.evaluation.certify_rows import certify_rows
from hammingbox.evaluation.rows import Rows
from toys import ToyVictim, toy_rows


@pytest.fixture
def data(schema: hb.Schema, victim: ToyVictim) -> hb.Dataset:
    x, y = toy_rows(schema, victim, rows=24)
    y[:5] = (y[:5] + 1) % 3  # five rows are wrong before
    return hb.Dataset(schema, x, y)


def certified(victim: hb.Victim, data: hb.Dataset, goal: hb.Goal, budget: int = 1) -> Rows:
    threat = hb.ThreatModel(hb.MaskedSpace(data.schema, immutable=["f2"]), budget)
    return certify_rows(victim, data, threat, hb.CERTIFICATES["exact"](), goal, seed=0, memory=2**20)


@pytest.mark.parametrize("goal", [hb.AnyOther(), hb.Target("class 1"), hb.Direction("class 0")], ids=repr)
def test_only_rows_that_are_right_and_can_reach_the_goal_are_certified(
    goal: hb.Goal, data: hb.Dataset, victim: ToyVictim
) -> None:
    rows = certified(victim, data, goal)
    possible = goal.of(data.labels, data.schema).possible
    assert rows.correct.tolist() == [False] * 5 + [True] * 19
    assert torch.equal(rows.attacked, rows.correct & possible)
    assert torch.equal(rows.proven | rows.success, rows.attacked), "an exact method decides every row"
    assert not (rows.proven & rows.success).any()
    left = ~rows.attacked
    assert left.any()
    assert torch.equal(rows.adversarial[left], rows.clean[left])
    assert torch.equal(rows.logits[left], rows.clean_logits[left])
    assert int(rows.distance[left].sum()) == int(rows.forward[left].sum()) == 0
    assert (rows.margin[~possible] == 0).all()
    broken = rows.success
    assert broken.any()
    assert torch.equal((rows.adversarial != rows.clean).sum(1)[broken], rows.distance[broken])
    assert (rows.margin[broken] > 0).all()
    assert (rows.margin[rows.proven] <= 0).all()


def test_a_batch_without_a_right_row(data: hb.Dataset, victim: ToyVictim) -> None:
    rows = certified(victim, data.take(slice(0, 3)), hb.AnyOther())
    assert not rows.attacked.any()
    assert not rows.proven.any()
    assert torch.equal(rows.logits, rows.clean_logits)


def test_a_batch_in_which_nothing_breaks(data: hb.Dataset, victim: ToyVictim) -> None:
    whole = certified(victim, data, hb.AnyOther())
    rows = certified(victim, data.take(whole.proven), hb.AnyOther())
    assert rows.proven.all()
    assert torch.equal(rows.adversarial, rows.clean)


def test_answers_that_do_not_fit_are_refused(data: hb.Dataset) -> None:
    two = ToyVictim(data.schema.cardinalities, 2)
    with pytest.raises(hb.VictimError, match="expected logits for 3 classes, got 2"):
        certified(two, data, hb.AnyOther())
