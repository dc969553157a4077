"""Rows, labels and goals that an attack refuses."""

import numpy as np
import pytest
import torch

from hammingbox import ATTACKS, BlackBox, Direction, FullSpace, InputError, Schema, Target, ThreatModel, accuracy
from hammingbox.attacks import Evolution, Genetic, Local, SparseRS
from hammingbox.data.dataset import Dataset
from hammingbox.seeding import RowRandom
from toys import ToyVictim, toy_rows


def test_bad_rows_and_labels_are_refused(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    threat, attack = ThreatModel(FullSpace(schema), 1), ATTACKS["ga"]()
    for bad_x, bad_y, message in (
        (x + 9, y, "ids 0"),
        (x[:, :2], y, r"shape \(batch, 5\)"),
        (x, y + 9, "labels 0"),
        (x[:0], y[:0], "at least one row"),
    ):
        with pytest.raises(InputError, match=message):
            attack(victim, bad_x, bad_y, threat)


def test_goals_that_are_impossible_or_unknown_are_refused(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    threat, attack = ThreatModel(FullSpace(schema), 1), ATTACKS["ga"]()
    assert {0, 1} <= set(y.tolist())
    with pytest.raises(InputError, match=r"got one of class 'class 1'\. Leave such rows out"):
        attack(victim, x, y, threat, goal=Target("class 1"))
    with pytest.raises(InputError, match=r"known class .* got 'fraud'"):
        attack(victim, x, y, threat, goal=Direction("fraud"))
    only = (y == 1).nonzero()[:1, 0]
    with pytest.raises(InputError, match="got one of class 'class 1'"):
        attack(victim, x[only], y[only], threat, goal=Target("class 1"))


def test_settings_that_leave_nothing_to_choose_from_are_refused() -> None:
    with pytest.raises(InputError, match="population of at least 2 members, got 1"):
        Genetic(population=1)
    with pytest.raises(InputError, match="share of at most 1, all changes, got 10"):
        SparseRS(share=10.0)


def test_more_starts_than_a_search_compares(schema: Schema) -> None:
    steady = BlackBox(lambda rows: np.tile([[0.8, 0.1, 0.1]], (len(rows), 1)))
    x, y = torch.zeros(2, 5, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
    found = Local(starts=300, patience=1)(steady, x, y, ThreatModel(FullSpace(schema), 3))
    assert not bool(found.success.any())


def test_genes_stay_below_one() -> None:
    """In float32 the remainder of a tiny negative number is 1."""
    parents = torch.zeros(1, 64, 2, 2)
    parents[:, ::2] = 2.0**-24
    random = RowRandom.for_rows(0, torch.zeros(1, 5, dtype=torch.int64))
    children = Evolution(keep=0.0, follow=0.0)._children(parents, torch.zeros(1, 64), random)
    assert bool((children >= 0).all())
    assert bool((children < 1).all())


def test_no_rows_have_no_accuracy(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    with pytest.raises(InputError, match="at least one row"):
        accuracy(victim, Dataset(schema, x[:0], y[:0]))
