"""Points that fit the purse, moves that pay for each other, and points in order of cost, against all points."""

from itertools import product

import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.attacks._search.best_moves import best_moves
from hammingbox.attacks._search.cost_order import points_by_cost
from hammingbox.attacks._search.guide import Gains, Guide
from hammingbox.attacks._search.knapsack import affordable_moves, change_weights, most_features, pack_problem
from hammingbox.attacks._search.random_points import random_points
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.distribution import Distribution, initial_log_pi
from hammingbox.attacks.pcaa import PCAA
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import FullSpace
from hammingbox.types import Slots
from toys import untargeted
from toys.prices import EURO, SCHEMA, SPACES, priced_rows, priced_victim


def problem_of(space: RuledSpace, budget: int, rows: int = 5) -> Problem:
    victim = priced_victim().eval()
    x, y = priced_rows(victim, rows)
    return Problem.of(victim, space.candidates(x), untargeted(y), budget)


def all_slots(problem: Problem, row: int) -> Tensor:
    """Every point that a row can afford, by trying all choices of slots; points that cannot be written included."""
    layout, candidates = problem.candidates.layout, problem.candidates
    choices = [
        [slot for slot in range(width) if candidates.valid[row, start + slot]]
        for start, width in zip(layout.starts.tolist(), layout.widths.tolist(), strict=True)
    ]
    slots = torch.tensor(list(product(*choices)))
    rows = torch.full((len(slots),), row)
    assert problem.purse is not None
    few = (slots != 0).sum(1) <= problem.budget
    return slots[few & (problem.spent(rows, slots) <= problem.purse[rows]).all(1)]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("budget", [1, 3, 12])
def test_points_by_cost_are_all_points_cheapest_first(space: str, budget: int) -> None:
    if space == "relations alone" and budget == 12:
        budget = 2
    problem = problem_of(SPACES[space], budget, rows=3)
    rows = torch.arange(len(problem))
    owner, slots, ticks = points_by_cost(problem, rows)
    assert torch.equal(ticks, problem.spent(owner, slots.long())[:, 1])
    counts = affordable_points(problem, rows)
    for row in rows.tolist():
        own, known = slots[owner == row].long(), all_slots(problem, row)
        assert bool((ticks[owner == row].diff() >= 0).all())
        assert {tuple(point) for point in own.tolist()} == {tuple(p) for p in known.tolist() if any(p)}
        assert len(own) == len(known) - 1
        writable = problem.candidates.writable(torch.full((len(known),), row), known)
        assert int(counts[row]) == int(writable.sum())


def test_a_point_keeps_what_can_be_paid_in_order() -> None:
    """City costs 10, second 1 and a green colour 10 of 12 ticks."""
    problem = problem_of(SPACES["prices"], 12, rows=1)
    layout = problem.candidates.layout
    point = torch.zeros(1, layout.features, dtype=torch.int64)
    city, second, country = 0, 4, 2
    for feature in (city, second, country):
        point[0, feature] = 1
    rows, priority = torch.zeros(1, dtype=torch.int64), torch.zeros(1, layout.features)
    priority[0, [city, second, country]] = torch.tensor([3.0, 2.0, 1.0])
    dear_first = pack_problem(problem, rows, point, priority)
    assert dear_first[0, city] == 1
    assert dear_first[0, second] == 1
    assert dear_first[0, country] == 0, "10 + 1 + 2 is more than 12"
    cheap_first = pack_problem(problem, rows, point, -priority)
    assert cheap_first[0].tolist() == (point[0] * (torch.arange(layout.features) != city)).tolist()


@pytest.mark.parametrize("space", SPACES)
def test_random_points_and_draws_fit(space: str) -> None:
    problem = problem_of(SPACES[space], 3)
    x = problem.candidates.clean
    pi = Distribution(problem.candidates, initial_log_pi(problem.candidates, 4.0))
    draws = pi.draw(RowRandom.for_rows(1, x), 40, budget=problem.budget, purse=problem.purse)
    for points in (random_points(problem, RowRandom.for_rows(0, x), 40), draws):
        rows = torch.arange(len(problem)).repeat_interleave(40)
        assert problem.purse is not None
        assert bool((problem.spent(rows, points.flatten(0, 1)) <= problem.purse[rows]).all())
        assert bool((points != 0).any())


class _Worth(Guide):
    """Every option has a fixed worth."""

    def __init__(self, options: int) -> None:
        self.worth = torch.randn(options, generator=torch.Generator().manual_seed(3))

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:
        layout = problem.candidates.layout
        return (self.worth - layout.spread(self.worth[layout.starts + here]))[..., None].clone()


@pytest.mark.parametrize("space", ["prices", "prices and few changes", "dependency"])
def test_moves_are_affordable_new_and_ranked(space: str) -> None:
    problem = problem_of(SPACES[space], 12, rows=8)
    rows = torch.arange(len(problem))
    visited = Visited(problem.candidates.layout, len(problem))
    guide = _Worth(problem.candidates.layout.options)
    here = random_points(problem, RowRandom.for_rows(5, problem.candidates.clean), 1)[:, 0]
    points, keys = best_moves(problem, guide, here, visited, rows, 200)
    owner = rows.repeat_interleave(points.shape[1])
    real = (keys != 0).flatten()
    assert bool(problem.affordable(owner[real], points.flatten(0, 1)[real]).all())
    assert torch.equal(visited.keys(points)[keys != 0], keys[keys != 0]), "keys are those of the points"
    for row in rows.tolist():
        own = [tuple(point) for point in points[row][keys[row] != 0].tolist()]
        assert len(own) == len(set(own)), "no point twice"
        assert tuple(here[row].tolist()) not in own
        worth = guide.worth[problem.candidates.layout.starts + torch.tensor(own)].sum(1)
        assert bool((worth.diff() <= 1e-4).all()), "the most promising first"
        alone = affordable_moves(problem, here)[row] & (problem.candidates.layout.slot_of >= 0)
        for option in alone.nonzero()[:, 0].tolist():  # every single change that can be paid is a move
            feature = int(problem.candidates.layout.feature_of[option])
            slot = int(problem.candidates.layout.slot_of[option])
            there = [*here[row].tolist()[:feature], slot, *here[row].tolist()[feature + 1 :]]
            assert tuple(there) in {*own, tuple(here[row].tolist()), (0,) * len(there)}


def test_a_dear_option_is_paid_by_several_cheap_changes() -> None:
    problem = problem_of(SPACES["prices"], 10, rows=1)
    here = problem.clean_slots.clone()
    here[0, 4], here[0, 2] = 1, 1  # second and country: 3 ticks
    visited = Visited(problem.candidates.layout, 1)
    points, keys = best_moves(
        problem, _Worth(problem.candidates.layout.options), here, visited, torch.zeros(1).long(), 200
    )
    cities = points[0][(keys[0] != 0) & (points[0][:, 0] != 0)]
    assert len(cities) == 3
    assert bool((cities[:, 1:] == 0).all()), "a city costs the whole purse"


def test_with_prices_of_1_the_constraint_is_that_of_the_paper() -> None:
    columns = tuple(ColumnRule(feature.name, price=1) for feature in SCHEMA.features)
    problem = problem_of(RuledSpace(FullSpace(SCHEMA), Rules(SCHEMA, unit=EURO, columns=columns)), 3)
    assert most_features(problem).tolist() == [3] * len(problem)
    weights = change_weights(problem)
    assert torch.equal(weights[:, problem.candidates.layout.slot_of != 0].unique(), torch.ones(1))
    generator = torch.Generator().manual_seed(0)
    pi = Distribution(problem.candidates, torch.randn(problem.candidates.valid.shape, generator=generator))
    assert torch.allclose(pi.weighted_cross_entropy(weights), pi.cross_entropy, atol=1e-5)
    limit = PCAA().limit(problem, 1.5)
    assert isinstance(limit, Tensor)
    assert limit.tolist() == [4.5] * len(problem)


def test_the_constraint_weighs_dear_features() -> None:
    """A city takes the whole purse of 10 ticks, the others a tenth or so: likely cities count more."""
    problem = problem_of(SPACES["prices"], 10)
    layout, flat = problem.candidates.layout, initial_log_pi(problem.candidates, 1.0)
    weights = change_weights(problem)
    likely = [flat + 2.0 * ((layout.feature_of == feature) & (layout.slot_of != 0)) for feature in (0, 4)]
    dear, cheap = (Distribution(problem.candidates, log_pi).weighted_cross_entropy(weights) for log_pi in likely)
    assert bool((dear > cheap).all())
