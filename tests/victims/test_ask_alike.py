"""Answers have the same bits, whatever else is asked at the same time."""

from dataclasses import fields

import pytest
import torch

from hammingbox import ATTACKS, Dataset, FullSpace, ThreatModel, evaluate
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.ask_alike import BLOCK, LEAST, ask_alike
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


@pytest.mark.parametrize("name", ["mlp", "lstm"])  # convolutions differ between sizes on some machines
def test_a_search_sees_the_same_gradients_alone_and_in_company(name: str) -> None:
    victim = build(name, SCHEMA, seed=0).eval()
    ids = torch.randint(0, 4, (40, 20), generator=torch.Generator().manual_seed(0))
    data = Dataset(SCHEMA, ids, victim(ids).argmax(1))
    runs = [
        evaluate(victim, data, ThreatModel(FullSpace(SCHEMA), 3), ATTACKS["pcaa"](), batch_size=size).rows
        for size in (1, 7, 40)
    ]
    for field in fields(runs[0]):
        for rows in runs[1:]:
            assert torch.equal(getattr(rows, field.name), getattr(runs[0], field.name)), field.name


def test_no_call_of_a_search_is_small() -> None:
    hard, soft = [], []

    class Counting(ToyVictim):
        def forward(self, ids: Ids) -> Logits:
            hard.append(len(ids))
            return super().forward(ids)

        def head(self, embedded: Embedded, ids: Ids) -> Logits:
            assert len(embedded) == len(ids)
            soft.append(len(ids))
            return super().head(embedded, ids)

    victim = Counting(SCHEMA.cardinalities).eval()
    row = torch.zeros(1, 20, dtype=torch.int64)
    data = Dataset(SCHEMA, row, victim(row).argmax(1))
    for attack in ("pcaa", "gga", "swap"):
        hard.clear(), soft.clear()
        found = evaluate(victim, data, ThreatModel(FullSpace(SCHEMA), 1), ATTACKS[attack](), batch_size=1)
        assert found.rows.forward.sum() > 0
        assert min(hard + soft) >= LEAST, attack
