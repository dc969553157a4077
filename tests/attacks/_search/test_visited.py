"""Points that have been tried."""

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


def test_first_in_row() -> None:
    keys = torch.tensor([[5, 3, 5, 3, 7], [1, 1, 1, 2, 1]])
    assert first_in_row(keys).tolist() == [[True, True, False, False, True], [True, False, False, True, False]]
