"""Rates have denominators, and rows do not depend on batches."""

from math import isnan
from typing import Any

import pytest
import torch

from hammingbox import (
    ATTACKS,
    PCAA,
    Dataset,
    FullSpace,
    InputError,
    MaskedSpace,
    Rate,
    Schema,
    Target,
    ThreatModel,
    Victim,
    evaluate,
)
from hammingbox.data.dataset import Splits
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims import ask_alike
from hammingbox.victims.zoo.registry import build
from toys import ToyVictim, toy_rows

SmallSplice = tuple[Victim, Splits]


@pytest.fixture(scope="module")
def small_splice(splice_splits: Splits) -> SmallSplice:
    """A real victim on real rows, trained for a few seconds."""
    victim = build("cnn", splice_splits.schema, channels=8, dim=4)
    fit(victim, splice_splits, TrainConfig(epochs=3))
    return victim, splice_splits


def test_wilson_intervals() -> None:
    # Reference values: Wilson (1927) with z = 1.959964, worked out by hand for 8 of 10.
    low, high = Rate(8, 10).interval
    assert low == pytest.approx(0.4901625, abs=1e-6)
    assert high == pytest.approx(0.9433178, abs=1e-6)
    assert Rate(0, 10).interval[0] == 0.0
    assert Rate(10, 10).interval[1] == 1.0
    assert isnan(Rate(0, 0).value)
    assert Rate(0, 0).known is None


def test_rates_and_denominators(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim, rows=30)
    y[:6] = (y[:6] + 1) % 3  # six rows are wrong before any attack
    seen = []
    result = evaluate(
        victim, Dataset(schema, x, y), ThreatModel(FullSpace(schema), 1), ATTACKS["ga"](), batch_size=7,
        on_rows=lambda done, fallen: seen.append((done, fallen)),
    )  # fmt: skip
    rows, summary = result.rows, result.summary()
    assert summary["rows"] == 30
    assert summary["correct"] == 24
    fallen = int(rows.success.sum())
    assert 0 < fallen < 24
    assert summary["success_rate"] == pytest.approx(fallen / 24)
    assert summary["robust_error"] == pytest.approx((fallen + 6) / 30)
    assert result.clean_error == Rate(6, 30)
    assert rows.forward[~rows.correct].eq(0).all(), "misclassified rows are not attacked"
    assert torch.equal(rows.adversarial[~rows.correct], x[~rows.correct])
    assert summary["forward"] == int(rows.forward.sum())
    assert summary["mean_distance"] == 1.0
    assert sum(done for done, _ in seen) == 30
    assert sum(n for _, n in seen) == fallen
    assert len(seen) == 5


def test_rows_of_the_target_class_are_left_alone(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim, rows=30)
    threat = ThreatModel(FullSpace(schema), 3)
    result = evaluate(victim, Dataset(schema, x, y), threat, ATTACKS["ga"](), goal=Target("class 0"))
    assert not result.rows.success[y == 0].any()
    attacked = int((y != 0).sum())
    assert 0 < attacked < 30
    assert result.success_rate == Rate(int(result.rows.success.sum()), attacked), "over rows that were attacked"
    assert result.summary()["attacked"] == attacked
    assert result.summary()["goal"] == {"kind": "target", "label": "class 0"}
    assert bool((victim.eval()(result.rows.adversarial).argmax(1) == 0)[result.rows.success].all())
    assert bool(result.rows.success.any())


class CountingVictim(ToyVictim):
    """Counts the rows that go through it."""

    asked = 0

    def head(self, embedded: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        self.asked += len(ids)
        return super().head(embedded, ids)


@pytest.mark.parametrize("name", ["ga", "gga", "pcaa", "auto", "exhaustive", "random"])
def test_outside_the_meter_a_row_goes_through_the_victim_at_most_once(
    schema: Schema, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in ("BLOCK", "LEAST"):
        monkeypatch.setattr(ask_alike, size, 1)  # no call is filled up with copies
    victim = CountingVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=30)
    y[:6] = (y[:6] + 1) % 3
    victim.asked = 0
    rows = evaluate(victim, Dataset(schema, x, y), ThreatModel(FullSpace(schema), 2), ATTACKS[name]()).rows
    outside = victim.asked - int(rows.forward.sum())
    changed = int((rows.distance > 0).sum())
    # Rows that are wrong before are looked at once and never attacked; the others pay for that look.
    # Four clean rows are asked about again, to see that the victim repeats itself.
    assert changed + 6 + 4 <= outside <= 30 + 4, "one recount per row that was changed, and nothing else"


def test_ids_are_checked_once(schema: Schema, victim: ToyVictim, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = toy_rows(schema, victim, rows=30)
    data = Dataset(schema, x, y)
    checks: list[int] = []
    check = Schema.check_ids

    def counted(self: Schema, ids: torch.Tensor, **settings: Any) -> None:
        checks.append(len(ids))
        check(self, ids, **settings)

    monkeypatch.setattr(Schema, "check_ids", counted)
    evaluate(victim, data, ThreatModel(FullSpace(schema), 1), ATTACKS["ga"](), batch_size=7)
    assert checks == [], "they were checked when the data set was made"


def test_mistakes(schema: Schema, victim: ToyVictim, splice_splits: Splits) -> None:
    x, y = toy_rows(schema, victim)
    data, attack = Dataset(schema, x, y), ATTACKS["ga"]()
    threat = ThreatModel(FullSpace(schema), 1)
    with pytest.raises(InputError, match="empty data set"):
        evaluate(victim, data.take(slice(0, 0)), threat, attack)
    with pytest.raises(InputError, match="of one schema"):
        evaluate(victim, splice_splits.test, threat, attack)
    with pytest.raises(InputError, match="batch size"):
        evaluate(victim, data, threat, attack, batch_size=0)


@pytest.mark.parametrize("name", ["pcaa", "genetic", "hotflip_beam", "sa"])
def test_batch_size_does_not_change_real_rows(small_splice: SmallSplice, name: str) -> None:
    victim, splits = small_splice
    threat = ThreatModel(MaskedSpace(splits.schema, forbidden={"*": ["N"]}), 2)
    attack = PCAA(steps=8) if name == "pcaa" else ATTACKS[name]()
    results = [
        evaluate(victim, splits.test.take(slice(0, 12)), threat, attack, batch_size=size).rows for size in (1, 7, 256)
    ]
    # A matrix product of another height rounds differently in its last bit: allow one row of twelve to tie.
    for other in results[1:]:
        assert int((other.adversarial != results[0].adversarial).any(1).sum()) <= 1
        assert torch.equal(other.success, results[0].success)


def test_real_training_learns_and_repeats(splice_splits: Splits, small_splice: SmallSplice) -> None:
    victim, _ = small_splice
    assert accuracy(victim, splice_splits.test) > 0.8
    again = build("cnn", splice_splits.schema, channels=8, dim=4)
    state = torch.get_rng_state()
    fit(again, splice_splits, TrainConfig(epochs=3))
    assert torch.equal(state, torch.get_rng_state())
    for a, b in zip(victim.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(a, b)
