"""The convex hull of candidates: mixtures are valid, sparse, and raise the loss."""

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.defences import ASCC, Batch
from hammingbox.defences.ascc import simplex
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import FullSpace
from hammingbox.victims.frozen import frozen_eval
from toys import ToyVictim, toy_rows, untargeted
from toys.defences import SPACES


def test_the_worst_mixture_raises_the_loss(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 24)
    candidates = FullSpace(schema).candidates(x)
    with frozen_eval(victim):
        problem = Problem.of(victim, candidates, untargeted(y), 1, objective="cross_entropy")
        before = simplex(candidates, -RowRandom.for_rows(0, x).gumbel(candidates.layout.options))
        after = ASCC(sparsity=0.0).worst_mixture(victim, Batch(torch.arange(24), x, y, 0), candidates)
        assert problem.soft_loss(after[:, None]).mean() > problem.soft_loss(before[:, None]).mean()


@pytest.mark.parametrize("space", SPACES)
def test_weights_lie_in_the_simplex_over_valid_slots(space: str, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim)
    batch, candidates = Batch(torch.arange(len(x)), x, y, 0), SPACES[space](schema).candidates(x)
    with frozen_eval(victim):
        weights = ASCC().worst_mixture(victim, batch, candidates)
        loose = ASCC(sparsity=0.0).worst_mixture(victim, batch, candidates)
    assert (weights >= 0).all()
    assert (weights[~candidates.valid] == 0).all()
    sums = candidates.layout.reduce(weights, lambda rectangle: rectangle.sum(-1))
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert _entropy(weights) < _entropy(loose), "the entropy term makes mixtures sparser"


def _entropy(weights: torch.Tensor) -> float:
    return -torch.xlogy(weights, weights).sum().item()


def test_the_public_numbers_weigh_the_entropy_by_the_batch(schema: Schema) -> None:
    public = ASCC.public(batch_size=30)
    assert (public.weight, public.sparsity, public.steps, public.learning_rate) == (4.0, 0.5, 10, 10.0)
    assert ASCC.public(steps=3).steps == 3
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 24)
    batch, candidates = Batch(torch.arange(24), x, y, 0), FullSpace(schema).candidates(x)
    with frozen_eval(victim):
        problem = Problem.of(victim, candidates, untargeted(y), 1, objective="cross_entropy")
        ours, theirs = (d.worst_mixture(victim, batch, candidates) for d in (ASCC(), ASCC.public()))
        assert problem.soft_loss(theirs[:, None]).mean() > problem.soft_loss(ours[:, None]).mean()
