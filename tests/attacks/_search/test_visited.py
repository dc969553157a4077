"""Points that have been tried."""

from random import Random

import torch

from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.threat.layout import Layout


def test_visited_knows_what_was_added_and_nothing_else() -> None:
    visited = Visited(Layout.of([3, 3, 3], torch.device("cpu")), batch=2)
    rows, points = torch.arange(2), torch.tensor([[[1, 0, 0], [0, 2, 1]], [[2, 0, 0], [0, 0, 0]]])
    visited.add(rows, visited.keys(points))
    other = torch.tensor([[[0, 2, 1], [2, 0, 0]], [[2, 0, 0], [1, 0, 0]]])
    assert visited.knows(rows, visited.keys(other)).tolist() == [[True, False], [True, False]]


def test_visiting_marks_new_points_once() -> None:
    visited = Visited(Layout.of([3, 3, 3], torch.device("cpu")), batch=2)
    points = torch.tensor([[[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0]]])
    assert visited.visit(torch.tensor([1]), points).tolist() == [[True, False, False, True]], "the clean row is known"
    assert not visited.visit(torch.tensor([1]), points).any()
    assert visited.visit(torch.tensor([0]), points).any(), "each row has its own points"


def test_rows_that_are_asked_at_different_times_keep_their_points() -> None:
    draw = Random(0)
    visited = Visited(Layout.of([3, 3, 3], torch.device("cpu")), batch=6)
    known: list[set[int]] = [{0} for _ in range(6)]
    some = [draw.randrange(-(2**63), 2**63 - 1) for _ in range(60)]
    for _ in range(100):
        rows, count = draw.sample(range(6), draw.randint(0, 6)), draw.choice((1, 3, 8))
        keys = [draw.choices(some, k=count) for _ in rows]
        index, asked = torch.tensor(rows, dtype=torch.int64), torch.tensor(keys, dtype=torch.int64).view(-1, count)
        told = visited.knows(index, asked).tolist()
        assert told == [[key in known[row] for key in mine] for row, mine in zip(rows, keys, strict=True)]
        visited.add(index, asked)
        for row, mine in zip(rows, keys, strict=True):
            known[row].update(mine)


def test_first_in_row() -> None:
    keys = torch.tensor([[5, 3, 5, 3, 7], [1, 1, 1, 2, 1]])
    assert first_in_row(keys).tolist() == [[True, True, False, False, True], [True, False, False, True, False]]
