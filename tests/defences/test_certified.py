"""The loss of certified training: worst cases at one radius, or between two."""

import pytest
import torch

from hammingbox.certificates import Additive
from hammingbox.defences import CertifiedTraining
from hammingbox.defences.base import Batch
from hammingbox.errors import InputError
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.zoo.registry import build
from toys import toy_schema

SCHEMA = toy_schema((3, 2, 4, 3, 4))
X = torch.tensor([[0, 1, 2, 0, 3], [2, 0, 1, 1, 0], [1, 1, 3, 2, 2]])
BATCH = Batch(torch.arange(3), X, torch.tensor([0, 1, 2]), seed=0)


def _loss(model: str, budget: int, **shares: float) -> torch.Tensor:
    victim = build(model, SCHEMA, seed=1)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    step = CertifiedTraining(**shares)(victim, BATCH, ThreatModel(FullSpace(SCHEMA), budget))
    step.loss.backward()
    assert all(parameter.grad is not None for parameter in victim.parameters())
    return step.loss.detach()


@pytest.mark.parametrize("model", ["linear", "windows", "shallow"])
def test_an_inner_share_mixes_the_losses_of_two_radii(model: str) -> None:
    for budget in (1, 2, 3):
        outer, inner = _loss(model, budget), _loss(model, budget - 1)
        mixed = _loss(model, budget, inner_share=0.25)
        torch.testing.assert_close(mixed, 0.75 * outer + 0.25 * inner)
        assert float(outer) > float(inner)
        clean = _loss(model, 0)
        torch.testing.assert_close(_loss(model, budget, clean_share=0.4), 0.4 * clean + 0.6 * outer)


def test_a_share_of_one_is_refused_and_records_keep_their_names() -> None:
    with pytest.raises(InputError, match="train for a smaller budget"):
        CertifiedTraining(inner_share=1.0)
    assert repr(CertifiedTraining(clean_share=0.2)) == "CertifiedTraining(clean_share=0.2)"
    assert "inner_share=0.5" in repr(CertifiedTraining(inner_share=0.5))


def test_windows_with_unequal_numbers_of_options_have_the_bounds_of_each_row_alone() -> None:
    victim = build("windows", SCHEMA, seed=1, width=2)
    with torch.no_grad():
        victim.scores.weight.normal_(generator=torch.Generator().manual_seed(3))
    space, y = FullSpace(SCHEMA), victim(X).argmax(1)
    together = Additive()(victim, X, y, ThreatModel(space, 3))
    for row in range(3):
        alone = Additive()(victim, X[row : row + 1], y[row : row + 1], ThreatModel(space, 3))
        assert torch.equal(together.radius[row : row + 1], alone.radius)
        torch.testing.assert_close(together.bound[row : row + 1], alone.bound)
