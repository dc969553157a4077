"""Rows, labels and goals that an attack refuses."""

import pytest

from hammingbox import ATTACKS, Direction, FullSpace, InputError, Schema, Target, ThreatModel
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
