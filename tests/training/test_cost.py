"""The cost of a defence, with a clock that counts the victim's passes in place of seconds."""

from dataclasses import replace

import pytest
import torch

from hammingbox.data.dataset import Splits
from hammingbox.defences import Defence, PAdvT, Standard
from hammingbox.training import cost
from hammingbox.training.cost import relative_cost
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.zoo.cnn import ConvNet
from hammingbox.victims.zoo.registry import VICTIMS, build
from toys.training import splice_threat


class Ticking(ConvNet):
    """A CNN whose every pass over a batch advances a clock."""

    passes = 0

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        Ticking.passes += 1
        return super().head(embedded, ids)


@pytest.fixture
def victim(small: Splits, monkeypatch: pytest.MonkeyPatch) -> Ticking:
    monkeypatch.setattr(cost, "perf_counter", lambda: float(Ticking.passes))
    monkeypatch.setitem(VICTIMS, "ticking", Ticking)
    built = build("ticking", small.schema, seed=0)
    assert isinstance(built, Ticking)
    return built


@pytest.mark.parametrize("batch_size", [64, 160])
def test_a_step_is_measured_in_standard_steps(batch_size: int, small: Splits, victim: Ticking) -> None:
    def cost_of(defence: Defence) -> float:
        return relative_cost(victim, small, defence, splice_threat(small), batch_size=batch_size, steps=2)

    assert cost_of(Standard()) == 1.0
    # Five steps with one sample, one pass over both draws and one over the rows trained on.
    assert cost_of(PAdvT(draws=2)) == 7.0


def test_measuring_changes_neither_victim_nor_defence(small: Splits, victim: Ticking) -> None:
    before, generator = weights_digest(victim), torch.get_rng_state()
    defence = PAdvT(warm=2)
    relative_cost(victim, small, defence, splice_threat(small), steps=2)
    assert weights_digest(victim) == before
    assert defence.memory is None
    assert torch.equal(torch.get_rng_state(), generator)


def test_few_rows_are_repeated(small: Splits, victim: Ticking) -> None:
    few = replace(small, train=small.train.take(slice(0, 8)))
    Ticking.passes = 0
    relative_cost(victim, few, Standard(), splice_threat(small), steps=5)
    assert Ticking.passes == 2 * (1 + 5)
