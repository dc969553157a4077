"""Batches of clean and adversarial rows: shares, goals, and the weights of several draws."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from hammingbox.attacks import HotFlip
from hammingbox.data.schema import Schema
from hammingbox.defences import HotFlipTraining, PAdvT
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.goal import Direction, Goal, Target
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.frozen import frozen_eval
from toys import ToyVictim, untargeted
from toys.defences import loss_of, toy_batch


@pytest.fixture
def victim(schema: Schema) -> ToyVictim:
    """Without dropout, so that losses of rows can be compared."""
    built = ToyVictim(schema.cardinalities)
    built.body[1] = nn.Identity()
    return built


def test_a_share_of_clean_rows_stays_clean(schema: Schema, victim: ToyVictim) -> None:
    """With all but one row clean, the loss is that of the batch except for one row."""
    batch, threat = toy_batch(schema, victim, 10), ThreatModel(FullSpace(schema), 2)
    loss = loss_of(HotFlipTraining(clean_share=0.9), victim, batch, threat)
    rows = functional.cross_entropy(victim(batch.x), batch.y, reduction="none")
    found = HotFlip()(victim, batch.x[:1], batch.y[:1], threat, seed=3)
    attacked = functional.cross_entropy(victim(found.ids), batch.y[:1])
    torch.testing.assert_close(loss, (rows[1:].sum() + attacked) / 10)


@pytest.mark.parametrize("goal", [Target("class 1"), Direction("class 0"), Direction("class 0", "class 1")])
def test_rows_of_attacked_classes_are_moved_towards_the_goal(goal: Goal, schema: Schema, victim: ToyVictim) -> None:
    batch, threat = toy_batch(schema, victim, 40, goal=goal), ThreatModel(FullSpace(schema), 2)
    loss = loss_of(HotFlipTraining(clean_share=0.25), victim, batch, threat)
    chosen = goal.of(batch.y, schema).possible
    chosen[30:] = False  # the last quarter stays clean
    assert 0 < int(chosen.sum()) < 30
    rows = batch.x.clone()
    rows[chosen] = HotFlip()(victim, batch.x[chosen], batch.y[chosen], threat, goal=goal, seed=3).ids
    torch.testing.assert_close(loss, functional.cross_entropy(victim(rows), batch.y))


def test_several_draws_per_row_are_averaged(schema: Schema, victim: ToyVictim) -> None:
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    defence = PAdvT(n_adv=3, clean_share=0.5)
    loss = loss_of(defence, victim, batch, threat)
    half = len(batch) // 2
    part = batch.take(slice(0, half))
    with frozen_eval(victim):
        candidates = threat.space.candidates(part.x)
        problem = Problem.of(victim, candidates, untargeted(part.y), 2)
        points = defence.adversarial(problem, part, RowRandom.for_rows(part.seed, part.x))
        attacked = [functional.cross_entropy(victim(candidates.select(points[:, i])), part.y) for i in range(3)]
        clean = functional.cross_entropy(victim(batch.x[half:]), batch.y[half:])
    torch.testing.assert_close(loss, (torch.stack(attacked).mean() + clean) / 2)
