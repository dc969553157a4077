"""The most promising moves, compared with all moves written out one by one."""

from itertools import product

import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.best_moves import best_moves
from hammingbox.attacks._search.guide import Gains, Guide
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.types import Slots
from toys import ToyVictim, toy_schema, untargeted

BUDGET = 2
WORTH = torch.randn(17, generator=torch.Generator().manual_seed(7), dtype=torch.float64).float()


class FixedWorth(Guide):
    """Every option has a fixed worth, so the gain of a move is a difference of sums."""

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:
        layout = problem.candidates.layout
        return (WORTH - layout.spread(WORTH[layout.starts + here]))[..., None]


def neighbours(problem: Problem, here: list[int]) -> dict[tuple[int, ...], float]:
    """All points that one move leads to, with their gain."""
    layout, moves = problem.candidates.layout, {}
    full = sum(slot != 0 for slot in here) >= BUDGET

    def worth(point: list[int]) -> float:
        return float(WORTH[layout.starts + torch.tensor(point)].double().sum())

    for feature, width in enumerate(layout.widths.tolist()):
        for slot in range(width):
            there = [*here[:feature], slot, *here[feature + 1 :]]
            valid = bool(problem.candidates.valid[0, layout.starts[feature] + slot])
            if slot == here[feature] or not valid:
                continue
            if not full or here[feature] != 0:
                moves[tuple(there)] = worth(there) - worth(here)
            else:
                for back in (i for i, old in enumerate(here) if old != 0):
                    exchanged = [*there[:back], 0, *there[back + 1 :]]
                    moves[tuple(exchanged)] = worth(exchanged) - worth(here)
    return moves


@pytest.mark.parametrize("here", [[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 3], [0, 4, 1, 0]])
def test_best_moves_are_the_best_of_all_moves(here: list[int]) -> None:
    schema = toy_schema((3, 6, 4, 4))
    victim = ToyVictim(schema.cardinalities)
    x = torch.tensor([[1, 2, 0, 3]])
    candidates = MaskedSpace(schema, forbidden={"f1": ["c4"]}).candidates(x)
    problem = Problem.of(victim, candidates, untargeted(torch.zeros(1, dtype=torch.int64)), BUDGET)
    visited = Visited(candidates.layout, 1)
    moves = neighbours(problem, here)
    moves.pop((0, 0, 0, 0), None)  # the clean row counts as tried
    for tries in (5, 1000):
        points, keys = best_moves(problem, FixedWorth(), torch.tensor([here]), visited, torch.arange(1), tries)
        found = [tuple(point) for point, key in zip(points[0].tolist(), keys[0].tolist(), strict=True) if key != 0]
        best = sorted(moves, key=lambda point: moves[point], reverse=True)[:tries]
        assert found == best, "in order, each once"
        assert torch.equal(visited.keys(points)[keys != 0], keys[keys != 0])
        for point in found:
            moves.pop(point)  # tried: the next call finds the others
    assert not moves, "every move is found in the end"


def test_the_neighbours_include_exchanges() -> None:
    """At the full budget an option of an untouched feature comes with a change given back, as the docstring says."""
    schema = toy_schema((3, 6, 4, 4))
    candidates = MaskedSpace(schema, immutable=[]).candidates(torch.zeros(1, 4, dtype=torch.int64))
    problem = Problem.of(
        ToyVictim(schema.cardinalities), candidates, untargeted(torch.zeros(1, dtype=torch.int64)), BUDGET
    )  # fmt: skip
    points, keys = best_moves(
        problem, FixedWorth(), torch.tensor([[1, 0, 0, 3]]), Visited(candidates.layout, 1), torch.arange(1), 1000
    )
    found = {tuple(point) for point, key in zip(points[0].tolist(), keys[0].tolist(), strict=True) if key != 0}
    again = {(slot, 0, 0, 3) for slot in (0, 2)} | {(1, 0, 0, slot) for slot in (0, 1, 2)}
    exchanged = set(product((0,), range(1, 6), (0,), (3,))) | set(product((1,), range(1, 6), (0,), (0,)))
    exchanged |= set(product((0,), (0,), range(1, 4), (3,))) | set(product((1,), (0,), range(1, 4), (0,)))
    assert found == again | exchanged
