"""Modules of one-hot rows."""

import pytest
import torch
from torch import nn

from hammingbox import ATTACKS, CERTIFICATES, FullSpace, InputError, OneHot, ThreatModel, VictimError
from hammingbox.victims.checkpoint import weights_digest
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


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["auto", "pcaa", "swap", "gga"])
def test_models_of_every_precision_are_attacked(name: str, kind: torch.dtype) -> None:
    victim = OneHot(linear().to(kind), categories=4).eval()
    x = torch.randint(4, (8, 3), generator=torch.Generator().manual_seed(0))
    y = victim(x).argmax(1)
    threat = ThreatModel(FullSpace(toy_schema((4, 4, 4))), 2)
    found = ATTACKS[name]()(victim, x, y, threat)
    assert torch.equal(found.success, victim(found.ids).argmax(1) != y)
    assert 0 < int(found.success.sum()) <= int(ATTACKS["oracle"]()(victim, x, y, threat).success.sum())


def test_bounds_say_nothing_about_models_of_half_precision() -> None:
    space = FullSpace(toy_schema((4, 4, 4)))
    x, y = torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    half = OneHot(linear().bfloat16(), categories=4).eval()
    with pytest.raises(InputError, match=r"float32 or float64 .* got one in torch\.bfloat16\. Call \.float\(\)"):
        CERTIFICATES["additive"]()(half, x, y, ThreatModel(space, 1))
    assert CERTIFICATES["auto"]()(half, x, y, ThreatModel(space, 1)).status[0] != "unknown", "exact asks the model"


def test_weights_of_every_precision_have_a_digest() -> None:
    digests = {weights_digest(OneHot(linear().to(kind), categories=4)) for kind in (torch.float32, torch.bfloat16)}
    assert len(digests) == 2


def test_a_category_that_the_module_does_not_take_is_refused() -> None:
    with pytest.raises(VictimError, match="expected ids below the 4 categories of OneHot, got 4"):
        OneHot(linear(), categories=4)(torch.tensor([[0, 4, 1]]))
