"""Estimates: exact where an attack has an exact formula, finite and below the bound elsewhere."""

import pytest
import torch

from hammingbox import Dataset, FullSpace, ThreatModel
from hammingbox.attacks import ATTACKS, PCAA, Attack
from hammingbox.errors import TooExpensiveError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.studies import plan
from hammingbox.studies.plan import RowPasses, expected_passes, plan_training
from hammingbox.studies.recipe import defended
from hammingbox.studies.workspace import Workspace
from hammingbox.types import Slots
from toys import ToyVictim, toy_rows, toy_schema
from toys.studies import QUICK

SCHEMA = toy_schema((4, 4, 4, 4))
VICTIM = ToyVictim(SCHEMA.cardinalities)


def toy_data(rows: int = 5) -> Dataset:
    return Dataset(SCHEMA, *toy_rows(SCHEMA, VICTIM, rows=rows), "toy")


@pytest.mark.parametrize("name", ["sa", "ga", "gsa", "gga", "pcaa", "exhaustive"])
def test_estimates_are_exact_where_there_is_a_formula(name: str) -> None:
    attack = PCAA(leave=False) if name == "pcaa" else ATTACKS[name]()
    data, threat = toy_data(), ThreatModel(FullSpace(SCHEMA), 2)
    found = attack(VICTIM, *data.batch(slice(None)), threat)
    expected = expected_passes(attack, VICTIM, data, threat)
    assert found.forward.double().mean().item() == expected.forward
    assert found.backward.double().mean().item() == expected.backward


@pytest.mark.parametrize("name", sorted(ATTACKS))
@pytest.mark.parametrize("budget", [1, 3])
def test_every_attack_has_a_finite_estimate(name: str, budget: int) -> None:
    attack = ATTACKS[name]()
    expected = expected_passes(attack, VICTIM, toy_data(), ThreatModel(FullSpace(SCHEMA), budget))
    assert 0 < expected.forward < 1e6
    assert 0 <= expected.backward < 1e6
    assert attack.uses_gradient or expected.backward == 0


def test_refusals_are_known_before_anything_runs() -> None:
    schema = toy_schema((1104,) * 20)
    victim = ToyVictim(schema.cardinalities)
    data = Dataset(schema, torch.zeros(2, 20, dtype=torch.int64), torch.zeros(2, dtype=torch.int64), "wide")
    for name in ("sa", "exhaustive"):
        with pytest.raises(TooExpensiveError):
            expected_passes(ATTACKS[name](), victim, data, ThreatModel(FullSpace(schema), 2))
    # Single changes are 20 x 1103; auto tries them in turn until the row breaks.
    auto = expected_passes(ATTACKS["auto"](), victim, data, ThreatModel(FullSpace(schema), 1))
    assert 20 * 1103 / 5 < auto.forward < 2 * 20 * 1103


def test_long_searches_are_not_estimated_as_short_ones() -> None:
    """The paper's PCAA spends at least one of its sweeps on a row, before the row may leave."""
    attack = PCAA.paper()
    expected = expected_passes(attack, VICTIM, toy_data(), ThreatModel(FullSpace(SCHEMA), 2))
    sweep = attack.steps * attack.samples
    assert sweep <= expected.backward <= attack.rounds * sweep


def test_an_attack_without_a_formula_gets_a_typical_cost() -> None:
    class Own(Attack):
        def run(self, problem: Problem, random: RowRandom) -> Slots:
            return problem.clean_slots

    assert expected_passes(Own(), VICTIM, toy_data(), ThreatModel(FullSpace(SCHEMA), 2)) == RowPasses(400.0, 0.0)


def test_the_attacks_on_validation_rows_are_a_part_of_a_training(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "relative_cost", lambda *_, **__: 1.0)  # it is measured in seconds

    def passes(rows: int, epochs: int) -> float:
        planned = plan_training(workspace, defended("swap", QUICK, "swap", budget=2, epochs=epochs, robust_rows=rows))
        return planned[-1].passes

    few, many, twice = passes(10, 1), passes(50, 1), passes(50, 2)
    assert many > few + 40 * 100, "swap search spends more than a hundred passes on a row that stands"
    assert twice == 2 * many, "after each epoch"
