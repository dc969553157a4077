"""Hard samples: the gradient at discrete rows within the budget, which are scored by the same passes."""

import torch

from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.hard_samples import HardSamples
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.mirror_ascent import Estimate
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.distribution import Distribution, initial_log_pi
from hammingbox.problem import DEFAULT_MEMORY, Objective, Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import FullSpace
from toys import ToyVictim, toy_rows, toy_schema, untargeted

SCHEMA = toy_schema((4, 3, 5, 4))
VICTIM = ToyVictim(SCHEMA.cardinalities).eval().requires_grad_(False)
X, Y = toy_rows(SCHEMA, VICTIM, rows=6)
ROWS = torch.arange(len(X))
SAMPLES = 5


def some_problem(memory: int = DEFAULT_MEMORY, objective: Objective = "margin") -> Problem:
    return Problem.of(VICTIM, FullSpace(SCHEMA).candidates(X), untargeted(Y), 2, memory=memory, objective=objective)


def gradient_of(problem: Problem) -> tuple[Estimate, Incumbent, Visited]:
    best, visited = Incumbent(problem), Visited(problem.candidates.layout, len(X))
    hard = HardSamples(problem, RowRandom.for_rows(0, X), SAMPLES, best, visited, ROWS)
    return hard(Distribution(problem.candidates, initial_log_pi(problem.candidates, 1.0))), best, visited


def the_points(problem: Problem) -> torch.Tensor:
    pi = Distribution(problem.candidates, initial_log_pi(problem.candidates, 1.0))
    return pi.draw(RowRandom.for_rows(0, X), SAMPLES, budget=2)


def test_the_gradient_is_the_mean_over_rows_drawn_within_the_budget() -> None:
    problem = some_problem()
    points = the_points(problem)
    assert set((points != 0).sum(2).flatten().tolist()) == {0, 1, 2}
    expected = torch.stack([problem.gradient(one)[1] for one in points.unbind(1)]).mean(0)
    found = gradient_of(some_problem())[0]
    assert torch.allclose(found.gradient, expected, atol=1e-6)
    assert found.largest_gain is not None
    largest = torch.stack([first_order_gain(problem, one)[1].amax(1) for one in points.unbind(1)]).mean(0)
    assert torch.allclose(found.largest_gain, largest, atol=1e-6)


def test_a_sample_is_a_scored_draw() -> None:
    problem = some_problem()
    _, best, visited = gradient_of(problem)
    points = the_points(problem)
    assert bool(visited.knows(ROWS, visited.keys(points)).all())
    scores = problem.unmetered().score(ROWS.repeat_interleave(SAMPLES), points.flatten(0, 1))
    clean = problem.unmetered().loss(problem.clean_slots)
    assert torch.allclose(best.loss, torch.maximum(scores.loss.view(-1, SAMPLES).amax(1), clean), atol=1e-5)
    assert torch.equal(best.fooled, best.loss > 0)
    assert problem.meter.forward.tolist() == [1 + SAMPLES] * len(X)
    assert problem.meter.backward.tolist() == [SAMPLES] * len(X)


def test_micro_batches_change_nothing() -> None:
    whole, best, _ = gradient_of(some_problem())
    starved, same, _ = gradient_of(some_problem(memory=1))
    assert torch.allclose(whole.gradient, starved.gradient, atol=1e-6)
    assert torch.equal(best.slots, same.slots)


def test_a_cross_entropy_does_not_say_whether_the_goal_is_met() -> None:
    _, best, visited = gradient_of(some_problem(objective="cross_entropy"))
    assert not best.slots.any(), "its points are not offered"
    points = the_points(some_problem())
    known = visited.knows(ROWS, visited.keys(points))
    assert torch.equal(known, ~points.any(2)), "so a draw may try them; only the clean row is known from the start"
