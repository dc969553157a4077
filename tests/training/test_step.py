"""One step: clipping, and a learning rate that falls or stays."""

import pytest
import torch

from hammingbox.data.dataset import Splits
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch
from hammingbox.training.loop import fit
from hammingbox.training.step import Descent, descend
from hammingbox.victims.zoo.registry import build


def test_gradients_are_clipped(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    x, _ = small.train.batch(slice(0, 8))
    descend(victim, torch.optim.SGD(victim.parameters(), lr=0.0), 1e6 * victim(x).square().mean(), 0.5)
    gradients = [p.grad.flatten() for p in victim.parameters() if p.grad is not None]
    assert torch.cat(gradients).norm() == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(("schedule", "rates"), [("constant", [1.0, 1.0]), ("cosine", [0.5, 0.0])])
def test_the_learning_rate_falls_to_zero_or_stays(schedule: str, rates: list[float], small: Splits) -> None:
    victim = build("mlp", small.schema, dim=2, hidden=4)
    x, _ = small.train.batch(slice(0, 8))
    descent = Descent(victim, TrainConfig(learning_rate=1.0, schedule=schedule), steps=4)  # type: ignore[arg-type]
    seen = []
    for _ in range(4):
        descent.step(victim(x).square().mean())
        seen += descent.numbers["learning_rate"]
    assert [seen[1], seen[3]] == pytest.approx(rates)


def test_fixed_parameters_are_not_trained(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    table = victim.get_parameter("embedding.table.weight").requires_grad_(False)
    before = table.clone()
    fit(victim, small, TrainConfig(epochs=1))
    assert torch.equal(table, before)


def test_the_loop_follows_the_schedule(small: Splits) -> None:
    """With a constant rate the last epoch still changes the weights by about as much as the first."""
    moved = {}
    for schedule in ("cosine", "constant"):
        weights: list[torch.Tensor] = []
        victim = build("cnn", small.schema, seed=0)

        def note(_: Epoch, weights: list[torch.Tensor] = weights, victim: torch.nn.Module = victim) -> None:
            weights.append(torch.cat([p.detach().flatten().clone() for p in victim.parameters()]))

        fit(victim, small, TrainConfig(epochs=6, patience=9, schedule=schedule), on_epoch=note)
        moved[schedule] = ((weights[-1] - weights[-2]).norm() / (weights[1] - weights[0]).norm()).item()
    assert moved["cosine"] < 0.5 * moved["constant"]
