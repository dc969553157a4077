"""Enumeration, in full and pruned."""

import pytest
import torch

from hammingbox.attacks import Exhaustive
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import ToyVictim, toy_rows, toy_schema
from toys.targets import Target, black_box


@pytest.mark.parametrize("budget", [1, 2, 3])
@pytest.mark.parametrize("hidden", [False, True], ids=["gradient", "black box"])
def test_verdicts_of_the_pruned_enumeration_are_the_same_and_cheaper(budget: int, hidden: bool, wide: Target) -> None:
    schema, toy, x, y = wide
    victim = black_box(toy) if hidden else toy
    threat = ThreatModel(FullSpace(schema), budget)
    plain, pruned = Exhaustive()(victim, x, y, threat), Exhaustive(verdict=True)(victim, x, y, threat)
    assert torch.equal(plain.success, pruned.success)
    assert torch.equal(plain.proven, pruned.proven)
    assert int(pruned.forward.sum() + pruned.backward.sum()) < int(plain.forward.sum())


def test_skipped_rows_are_neither_tried_nor_proven() -> None:
    schema = toy_schema((3, 3, 9))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=30)
    # Rows of category c0 in f2 may not change it, so they have fewer points.
    space = MaskedSpace(schema, kept={"f2": ["c0"]})
    few = x[:, 2] == 0
    assert bool(few.any())
    result = Exhaustive(skip=True, max_passes=9)(victim, x, y, ThreatModel(space, 2))
    oracle = Exhaustive()(victim, x, y, ThreatModel(space, 2))
    assert result.forward.tolist() == torch.where(few, 9, 1).tolist()
    assert torch.equal(result.success, oracle.success & few)
    assert torch.equal(result.proven, oracle.proven & few)


def test_rows_that_run_out_of_queries_are_not_proven(hard: Target) -> None:
    schema, victim, x, y = hard
    threat = ThreatModel(FullSpace(schema), 1)
    assert not Exhaustive(queries=20)(victim, x, y, threat).proven.any()
    assert torch.equal(Exhaustive(queries=100)(victim, x, y, threat).proven, Exhaustive()(victim, x, y, threat).proven)
