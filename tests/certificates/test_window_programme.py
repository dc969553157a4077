"""The programme of windows against all points of tiny spaces: widths, budgets, ties, and options that rows lack."""

from itertools import product

import pytest
import torch

from hammingbox.certificates._search.pairs import Pairs
from hammingbox.certificates._search.window_programme import WindowScores, window_worst_case
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.victims.zoo.registry import build
from hammingbox.victims.zoo.windows import Windows
from toys import toy_schema

SCHEMA = toy_schema((3, 2, 4, 1, 3, 2))


def _victim(width: int, seed: int, *, whole: bool) -> Windows:
    """Scores that are all different, or whole numbers of which many are equal."""
    victim = build("windows", SCHEMA, width=width).eval()
    assert isinstance(victim, Windows)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
            if whole:
                parameter.round_()
    return victim


def _enumerated(victim: Windows, candidates: Candidates, pairs: Pairs, budget: int) -> torch.Tensor:
    """The largest difference of each pair within each budget, from the victim's answers to all points."""
    points = torch.tensor(list(product(*(range(width) for width in candidates.layout.widths.tolist()))))
    bounds = torch.full((len(pairs.rows), budget), -torch.inf, dtype=torch.float64)
    for number, (row, win, lose) in enumerate(zip(*(part.tolist() for part in pairs), strict=True)):
        own = torch.full((len(points),), row)
        allowed = candidates.take(own).allows(points)
        logits = victim(candidates.select_points(own[allowed], points[allowed])).detach().double()
        changes = (points[allowed] != 0).sum(1)
        for radius in range(1, budget + 1):
            bounds[number, radius - 1] = (logits[:, win] - logits[:, lose])[changes <= radius].max()
    return bounds


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
def test_bounds_and_points_are_those_of_enumeration(width: int, whole: bool) -> None:
    victim = _victim(width, seed=width, whole=whole)
    generator = torch.Generator().manual_seed(7)
    x = torch.stack([torch.randint(size, (5,), generator=generator) for size in SCHEMA.cardinalities], 1)
    candidates = MaskedSpace(SCHEMA, immutable=["f4"], forbidden={"*": ["c1"]}).slots_of(x)
    pairs = Pairs.of(AnyOther().of(torch.tensor([0, 1, 2, 0, 1]), SCHEMA))
    truth = _enumerated(victim, candidates, pairs, 5)
    found = window_worst_case(WindowScores.of(victim), candidates, pairs, 5)
    torch.testing.assert_close(found.bounds, truth, atol=1e-4, rtol=0)
    every = torch.arange(len(pairs.rows))
    for radius in range(1, 6):
        points = found.points(every, torch.full_like(every, radius))
        assert bool(((points != 0).sum(1) <= radius).all())
        assert bool(candidates.take(pairs.rows).allows(points).all())
        logits = victim(candidates.select_points(pairs.rows, points)).detach().double()
        attained = logits[every, pairs.wins] - logits[every, pairs.loses]
        torch.testing.assert_close(attained, truth[:, radius - 1], atol=1e-4, rtol=0)


@pytest.mark.parametrize("width", [1, 3])
def test_rows_in_which_nothing_can_change_keep_their_clean_difference(width: int) -> None:
    victim, x = _victim(width, seed=0, whole=False), torch.zeros(2, 6, dtype=torch.int64)
    candidates = MaskedSpace(SCHEMA, forbidden={"*": ["c1", "c2", "c3"]}).slots_of(x)
    pairs = Pairs.of(AnyOther().of(torch.tensor([0, 1]), SCHEMA))
    found = window_worst_case(WindowScores.of(victim), candidates, pairs, 2)
    logits, every = victim(x).detach().double()[pairs.rows], torch.arange(len(pairs.rows))
    clean = (logits[every, pairs.wins] - logits[every, pairs.loses])[:, None].expand(-1, 2)
    torch.testing.assert_close(found.bounds, clean, atol=1e-4, rtol=0)
    assert not bool(found.points(every, torch.full_like(every, 2)).any())
