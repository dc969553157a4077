"""Pairs of changes of a convolution net are computed, not passed: they must equal what enumeration finds."""

import pytest
import torch

from hammingbox import MaskedSpace, Schema, ThreatModel, build
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.certificates import Exact
from hammingbox.victims.zoo.cnn import ConvNet

SCHEMA = Schema.sequence(14, "ACGTN", ("no", "yes", "maybe"))
"""With kernels of 3, changes reach 2 positions: pairs up to 4 apart are near, the others far."""


def _net(kernel: int, lead: float) -> ConvNet:
    """A net of random weights that prefers one class, so that some rows hold."""
    victim = build("cnn", SCHEMA, seed=kernel, dim=3, channels=4, kernel=kernel)
    assert isinstance(victim, ConvNet)
    generator = torch.Generator().manual_seed(kernel)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=generator))
        victim.output[-1].bias[1] += lead
    return victim.eval()


@pytest.mark.parametrize(("kernel", "lead"), [(1, 0.5), (3, 1.0), (7, 0.2)])
def test_pairs_equal_enumeration(kernel: int, lead: float) -> None:
    victim = _net(kernel, lead)
    # A cell that holds the forbidden N has one option more than the others.
    x = torch.randint(5, (40, 14), generator=torch.Generator().manual_seed(1))
    x[20:] = torch.where(x[20:] == 4, 0, x[20:])
    y = victim(x).argmax(1)
    threat = ThreatModel(MaskedSpace(SCHEMA, immutable=["3"], forbidden={"*": ["N"]}), 2)
    found = Exact()(victim, x, y, threat)
    worst = Exhaustive(max_passes=10**6)(victim, x, y, threat)
    assert 3 < int(found.proven.sum()) < 37
    assert torch.equal(found.broken, worst.success)
    assert not bool(found.unknown.any())
    # The bound is the worst margin, raised by what rounding may change.
    gap = found.bound[found.proven] - worst.margin.double()[found.proven]
    assert float(gap.min()) > -1e-5
    assert float(gap.max()) < 2e-3


def test_few_pairs_are_asked_for() -> None:
    victim = _net(3, 1.0)
    x = torch.randint(4, (12, 14), generator=torch.Generator().manual_seed(2))
    y = victim(x).argmax(1)
    asked = 0

    def count(_module: torch.nn.Module, rows: tuple[torch.Tensor, ...]) -> None:
        nonlocal asked
        asked += len(rows[0])

    handle = victim.register_forward_pre_hook(count)
    found = Exact()(victim, x, y, ThreatModel(MaskedSpace(SCHEMA, forbidden={"*": ["N"]}), 2))
    handle.remove()
    assert bool(found.proven.any())
    assert asked < 100 * len(x)  # of 861 points within two changes
