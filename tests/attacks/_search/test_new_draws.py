"""New draws: the mode first, nothing twice while there is something new, always the same number."""

import pytest
import torch

from hammingbox.attacks._search.new_draws import exchanges, new_draws
from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.attacks.distribution import Distribution
from hammingbox.seeding import RowRandom
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from toys import toy_schema

SCHEMA = toy_schema((4, 3, 5, 4))
X = torch.tensor([[0, 1, 4, 2], [2, 0, 0, 1]])
ROWS = torch.arange(2)


def test_draws_are_new_and_spend_the_budget() -> None:
    candidates = FullSpace(SCHEMA).candidates(X)
    pi = Distribution(candidates, torch.zeros(2, candidates.layout.options))
    visited, random = Visited(candidates.layout, 2), RowRandom.for_rows(0, X)
    before = torch.zeros(2, 0, dtype=torch.int64)
    for _ in range(3):
        points = new_draws(pi, random, 8, 2, visited, ROWS)
        assert points.shape == (2, 8, 4)
        assert bool((points != 0).sum(2).eq(2).all())
        keys = visited.keys(points)
        before = torch.cat([before, keys], 1)
        assert bool(first_in_row(before).all()), "nothing is drawn twice"
        assert bool(visited.knows(ROWS, keys).all())


def test_the_mode_is_the_first_draw() -> None:
    candidates = FullSpace(SCHEMA).candidates(X)
    log_pi = torch.randn(2, candidates.layout.options, generator=torch.Generator().manual_seed(0))
    pi = Distribution(candidates, log_pi)
    visited, random = Visited(candidates.layout, 2), RowRandom.for_rows(0, X)
    assert torch.equal(new_draws(pi, random, 4, 2, visited, ROWS)[:, 0], pi.mode(2))
    assert not torch.equal(new_draws(pi, random, 4, 2, visited, ROWS)[:, 0], pi.mode(2)), "once"


def test_tried_points_fill_up_where_too_few_are_new() -> None:
    space = MaskedSpace(SCHEMA, immutable=["f0", "f2", "f3"])
    candidates = space.candidates(X)
    pi = Distribution(candidates, torch.zeros(2, candidates.layout.options))
    visited = Visited(candidates.layout, 2)
    points = new_draws(pi, RowRandom.for_rows(0, X), 6, 2, visited, ROWS)
    assert points.shape == (2, 6, 4)
    assert sorted(points[0, :2, 1].tolist()) == [1, 2], "both changes of the only feature that can change come first"
    assert not points[:, :, [0, 2, 3]].any()


@pytest.mark.parametrize("here", [[0, 0, 0, 0], [0, 1, 0, 0], [2, 1, 0, 0], [0, 0, 3, 1]])
def test_an_exchange_is_one_change_from_the_current_row(here: list[int]) -> None:
    candidates = FullSpace(SCHEMA).candidates(X)
    pi = Distribution(candidates, torch.zeros(2, candidates.layout.options))
    row = torch.tensor([here, here])
    points = exchanges(pi, RowRandom.for_rows(0, X), 300, 2, row)
    changed = points != 0
    assert int(changed.sum(2).max()) <= 2
    taken = (points != row[:, None]) & changed
    assert bool((taken.sum(2) == 1).all()), "one change is new"
    given_back = (row[:, None] != 0) & ~changed
    full = sum(slot != 0 for slot in here) == 2
    elsewhere = (taken & (row[:, None] == 0)).any(2)
    assert torch.equal(given_back.sum(2), elsewhere.long() if full else torch.zeros_like(elsewhere.long()))
    assert taken.any(1).all(), "every feature is taken at some time"


def test_an_exchange_gives_back_the_least_likely_change() -> None:
    candidates = FullSpace(SCHEMA).candidates(X)
    layout = candidates.layout
    row = torch.tensor([[0, 1, 0, 2], [0, 1, 0, 2]])
    log_pi = torch.full((2, layout.options), -60.0).masked_fill_(layout.slot_of == 0, 0.0)
    for feature, slot, odds in ((0, 3, 90.0), (1, 1, 60.0), (3, 2, -20.0)):
        log_pi[:, layout.starts[feature] + slot] = odds
    points = exchanges(Distribution(candidates, log_pi), RowRandom.for_rows(0, X), 50, 2, row)
    assert bool((points == torch.tensor([3, 1, 0, 0])).all())
