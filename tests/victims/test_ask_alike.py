"""Recorded answers have the same bits, whatever else is asked at the same time."""

import pytest
import torch

from hammingbox.types import Ids, Logits
from hammingbox.victims.ask_alike import BLOCK, ask_alike
from hammingbox.victims.zoo.registry import build
from toys import ToyVictim, toy_schema

SCHEMA = toy_schema((4,) * 20)


@pytest.mark.parametrize("name", ["mlp", "lstm", "cnn", "linear"])
def test_the_size_of_a_batch_does_not_change_a_bit(name: str) -> None:
    victim = build(name, SCHEMA, seed=0).eval()
    ids = torch.randint(0, 4, (300, 20), generator=torch.Generator().manual_seed(0))
    whole = ask_alike(victim, ids)
    for size in (1, 7, 64, 256):
        assert torch.equal(torch.cat([ask_alike(victim, part) for part in ids.split(size)]), whole)
    torch.testing.assert_close(whole, victim(ids).detach())


def test_calls_have_one_size_unless_the_victim_is_slow_by_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Counting(ToyVictim):
        def forward(self, ids: Ids) -> Logits:
            sizes.append(len(ids))
            return super().forward(ids)

    rows = torch.zeros(70, 20, dtype=torch.int64)
    victim = Counting(SCHEMA.cardinalities).eval()
    assert ask_alike(victim, rows).shape == (70, 3)
    assert sizes == [BLOCK] * 2
    sizes.clear()
    monkeypatch.setattr(Counting, "has_gradient", False)
    ask_alike(victim, rows)
    assert sizes == [70]
