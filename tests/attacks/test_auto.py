"""The ensemble: its stages, its verdicts, its minimum budgets."""

import pytest
import torch

from hammingbox.attacks import ATTACKS, Auto, Exhaustive
from hammingbox.problem import Problem
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import ToyVictim, toy_rows, toy_schema, untargeted
from toys.targets import Target, black_box


@pytest.mark.parametrize("hidden", [False, True], ids=["gradient", "black box"])
def test_auto_is_at_least_as_good_as_every_stage_and_says_which_one_broke_a_row(hidden: bool, wide: Target) -> None:
    schema, toy, x, y = wide
    victim = black_box(toy) if hidden else toy
    for budget in (1, 2, 3):
        threat = ThreatModel(FullSpace(schema), budget)
        result = Auto()(victim, x, y, threat)
        stages = Auto().stages(Problem.of(victim, threat.space.candidates(x), untargeted(y), budget))
        for number, stage in enumerate(stages, 1):
            alone = stage(victim, x, y, threat)
            assert int(result.success.sum()) >= int(alone.success.sum())
            if number == 1:
                assert bool((result.stage[alone.success] == 1).all())
                assert bool((result.stage[~alone.success] > 1).all()) or len(stages) == 1
        assert bool((result.stage[~result.success] == len(stages)).all()), "unbroken rows go through all stages"


@pytest.mark.parametrize("queries", [100, 300])
def test_auto_under_a_query_limit_is_as_good_as_each_black_box_attack(queries: int, hard: Target) -> None:
    schema, victim, x, y = hard
    for budget in (1, 2, 3):
        threat = ThreatModel(FullSpace(schema), budget)
        found = int(Auto(queries=queries)(victim, x, y, threat).success.sum())
        for name in ("local", "evolution", "sparse_rs", "genetic", "pcaa_blackbox"):
            assert found >= int(ATTACKS[name](queries=queries)(victim, x, y, threat).success.sum())


def test_auto_decides_rows_for_which_the_queries_suffice_and_stops_there(hard: Target) -> None:
    schema, victim, x, y = hard
    points = 1 + 36 + 66 * 9
    threat = ThreatModel(FullSpace(schema), 2)
    limits = Exhaustive()(victim, x, y, threat)
    assert 0 < int(limits.success.sum()) < len(x)
    result = Auto(queries=5000)(black_box(victim), x, y, threat)
    assert torch.equal(result.success, limits.success)
    assert torch.equal(result.proven, ~limits.success)
    assert bool((result.forward[~result.success] == points).all()), "a decided row needs no more queries"
    starved = Auto(queries=points // 2)(black_box(victim), x, y, threat)
    assert bool((starved.forward[~starved.success] == points // 2).all())
    assert not starved.proven.any()


def test_a_row_decided_at_one_budget_is_attacked_again_at_the_next(hard: Target) -> None:
    schema, victim, x, y = hard
    result = Auto(minimum=True, queries=1000)(black_box(victim), x, y, ThreatModel(FullSpace(schema), 2))
    for budget in (1, 2):
        oracle = Exhaustive()(victim, x, y, ThreatModel(FullSpace(schema), budget))
        assert torch.equal(result.success & (result.distance <= budget), oracle.success)


@pytest.mark.parametrize("hidden", [False, True], ids=["gradient", "black box"])
def test_minimum_budgets_are_those_of_enumeration(hidden: bool, wide: Target) -> None:
    schema, toy, x, y = wide
    victim = black_box(toy) if hidden else toy
    result = Auto(minimum=True)(victim, x, y, ThreatModel(FullSpace(schema), 3))
    for budget in (1, 2, 3):
        oracle = Exhaustive()(toy, x, y, ThreatModel(FullSpace(schema), budget))
        assert torch.equal(result.success & (result.distance <= budget), oracle.success)


def test_auto_walks_first_among_thousands_of_single_changes_and_is_still_exact() -> None:
    schema = toy_schema((900, 900, 900))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, 8)
    threat = ThreatModel(FullSpace(schema), 1)
    found, limit = Auto()(victim, x, y, threat), Exhaustive()(victim, x, y, threat)
    assert torch.equal(found.success, limit.success)
    assert found.success.any()
    assert set(found.stage[found.success].tolist()) <= {1, 2}
    assert (found.stage[~found.success] == 2).all(), "an unbroken row has been enumerated"
    assert found.forward[found.stage == 1].float().mean() < 300
