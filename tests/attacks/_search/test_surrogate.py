"""The additive model of a black box."""

import pytest
import torch

from hammingbox.attacks import Local
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import query_points
from hammingbox.attacks._search.random_points import random_points
from hammingbox.attacks._search.surrogate import AdditiveSurrogate
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.wrapped import wrap
from toys import toy_rows, toy_schema, untargeted
from toys.targets import Recorder, Target


def test_the_surrogate_is_exact_for_an_additive_victim(wide: Target) -> None:
    schema, _, x, y = wide
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        embedding = torch.nn.Embedding(4, 5)
        model = torch.nn.Sequential(embedding, torch.nn.Flatten(), torch.nn.Linear(60, 3))
    victim, threat = wrap(model, embedding=embedding), ThreatModel(FullSpace(schema), 3)
    with frozen_eval(victim):
        problem = Problem.of(victim, threat.space.candidates(x), untargeted(y), 3)
        best, layout = Incumbent(problem), problem.candidates.layout
        guide = AdditiveSurrogate(problem, best, Visited(layout, len(x)), RowRandom.for_rows(0, x))
        singles = layout.slot_of.new_zeros(layout.options, 12)
        singles[torch.arange(layout.options), layout.feature_of] = layout.slot_of
        points, rows = singles.repeat(len(x), 1, 1), torch.arange(len(x))
        guide.learn(rows, points, query_points(problem, best, rows, points, points.any(2))[1])
        here = torch.zeros_like(x)
        here[:, 2], here[:, 7] = 1, 3
        gain = guide.gain(problem, rows, here)
        # The class that is nearest after two changes need not be the one that is nearest before.
        moves = guide.value(problem, rows, here, gain[:, layout.starts + 2])
        for feature in range(12):
            there = here.clone()
            there[:, feature] = 2
            assert torch.allclose(moves[:, feature], problem.loss(there), atol=1e-4)


@pytest.mark.parametrize("budget", [2, 5], ids=["lists of changes", "whole points"])
def test_what_all_points_teach_at_once_is_what_they_teach_one_after_the_other(budget: int) -> None:
    schema = toy_schema((3,) * 8)  # few options: most points share some
    victim = Recorder(schema.cardinalities, bias=100.0)
    x, y = toy_rows(schema, victim, rows=4)
    problem = Problem.of(victim.eval(), FullSpace(schema).candidates(x), untargeted(y), budget)
    best, random = Incumbent(problem), RowRandom.for_rows(0, x)
    points = random_points(problem, random, 12)
    points[1, 5] = 0  # the clean row teaches nothing
    logits = random.uniform(12, best.clean_logits.shape[1])
    logits[0, 3], logits[2] = torch.nan, torch.nan  # not queried
    together, alone, apart = (
        AdditiveSurrogate(problem, best, Visited(problem.candidates.layout, 4), RowRandom.for_rows(0, x))
        for _ in range(3)
    )
    together.learn(torch.arange(4), points, logits)
    for point in range(12):
        alone.learn(torch.arange(4), points[:, point : point + 1], logits[:, point : point + 1])
    for row in range(4):
        apart.learn(torch.tensor([row]), points[[row]], logits[[row]])
    assert torch.allclose(together.worth, alone.worth, atol=1e-5)
    assert torch.equal(together.worth, apart.worth), "a row's model does not depend on its batch"
    singles = problem.candidates.moves.nonzero()[:, 1].view(4, -1)[:, ::3]
    layout = problem.candidates.layout
    points = torch.zeros(4, singles.shape[1], 8, dtype=torch.int64)
    points.scatter_(2, layout.feature_of[singles][..., None], layout.slot_of[singles][..., None])
    logits = logits[:, : singles.shape[1]]
    together.learn(torch.arange(4), points, logits)
    apart.learn_singles(torch.arange(4), singles, logits)
    assert torch.allclose(together.worth, apart.worth, atol=1e-5)


@pytest.mark.parametrize(("restart", "kept", "changes"), [(0, 2, 3), (1, 0, 2), (2, 1, 3), (3, 0, 2), (4, 2, 3)])
def test_restarts_keep_some_of_the_best_changes_every_other_time(restart: int, kept: int, changes: int) -> None:
    schema = toy_schema((40,) * 60)  # so many options that a random change is hardly ever one of the best row's
    victim = Recorder(schema.cardinalities, bias=100.0)
    x, y = toy_rows(schema, victim, rows=4)
    problem = Problem.of(victim.eval(), FullSpace(schema).candidates(x), untargeted(y), 3)
    best, rows, random = Incumbent(problem), torch.arange(4), RowRandom.for_rows(0, x)
    best.slots[:, :3] = 5
    guide = AdditiveSurrogate(problem, best, Visited(problem.candidates.layout, 4), random)
    for _ in range(restart):
        guide.new_starts(problem, rows, random, 8)
    points, wanted = guide.new_starts(problem, rows, random, 8)
    assert bool(wanted.all())
    same = ((points == best.slots[:, None]) & (points != 0)).sum(2)
    assert same.float().mean() == pytest.approx(kept, abs=0.2)
    assert (points != 0).sum(2).float().mean() == pytest.approx(changes, abs=0.2)


def test_a_walk_ends_when_all_points_have_been_tried() -> None:
    schema = toy_schema((3,) * 4)
    victim = Recorder(schema.cardinalities, seed=4, bias=100.0)  # no row is broken
    x, y = torch.ones(2, 4, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
    result = Local(queries=10**6, steps=10**6)(victim, x, y, ThreatModel(FullSpace(schema), 2))
    assert result.forward.tolist() == [1 + 8 + 24] * 2, "every row within the budget once"
