"""The ball around embedded rows: the shift raises the loss of the goal and stays in the ball."""

import torch
from torch.nn import functional

from hammingbox.data.schema import Schema
from hammingbox.defences import L2Ball
from hammingbox.threat.goal import Target
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.victims.frozen import frozen_eval
from toys import ToyVictim, toy_rows, untargeted


def test_the_shift_raises_the_loss_within_the_ball(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 24)
    free = (FullSpace(schema).candidates(x).counts > 1)[:, :, None]
    with frozen_eval(victim):
        embedded = victim.embed(x)
        shift = L2Ball(radius=0.7).worst_shift(victim, x, untargeted(y), free, x)
        moved = victim.head(embedded + shift, x)
        assert functional.cross_entropy(moved, y) > functional.cross_entropy(victim(x), y)
    size = shift.flatten(1).norm(dim=1) / embedded.square().sum(2).mean().sqrt()
    assert size.max() <= 0.7 + 1e-5
    assert size.min() > 0.5


def test_the_shift_follows_the_goal_and_leaves_fixed_features_alone(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 60)
    x, y = x[y != 1], y[y != 1]
    space = MaskedSpace(schema, immutable=["f0"])
    goals = Target("class 1").of(y, schema)
    with frozen_eval(victim):
        shift = L2Ball(radius=2.0).worst_shift(victim, x, goals, (space.candidates(x).counts > 1)[:, :, None], x)
        assert torch.equal(shift[:, 0], torch.zeros_like(shift[:, 0]))
        before, after = (goals.margin(victim.head(victim.embed(x) + part, x)) for part in (0 * shift, shift))
    assert (after > before).float().mean() > 0.9
