"""Modules of one-hot rows."""

import torch
from torch import nn

from hammingbox import ATTACKS, FullSpace, OneHot, ThreatModel
from toys import toy_schema


def linear() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 3))


def test_rows_are_one_hot_and_a_blank_is_zero() -> None:
    victim = OneHot(linear(), categories=4, blank=3)
    embedded = victim.embed(torch.tensor([[0, 1, 3]]))
    assert embedded.tolist() == [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]]
    assert OneHot(linear(), categories=4).embed(torch.tensor([[3]])).tolist() == [[[0, 0, 0, 1]]]


def test_first_order_gains_of_a_linear_model_are_exact() -> None:
    victim = OneHot(linear(), categories=4, blank=3)
    x = torch.randint(4, (8, 3), generator=torch.Generator().manual_seed(0))
    y = victim(x).argmax(1)
    threat = ThreatModel(FullSpace(toy_schema((4, 4, 4))), 1)
    oracle = ATTACKS["exhaustive"]()(victim, x, y, threat)
    assert torch.allclose(ATTACKS["hotflip"]()(victim, x, y, threat).margin, oracle.margin, atol=1e-5)
