"""Clean and robust accuracy: ties, the victim's mode, and goals."""

import pytest
import torch

from hammingbox.attacks import Exhaustive
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.evaluation.accuracy import accuracy, correctly_classified, is_right, robust_accuracy
from hammingbox.threat.goal import AnyOther, Direction, Target
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import ToyVictim, toy_rows


@pytest.fixture
def data(schema: Schema, victim: ToyVictim) -> Dataset:
    """Thirty rows, four of which are wrong before any attack."""
    x, y = toy_rows(schema, victim, rows=30)
    y[:4] = (y[:4] + 1) % 3
    return Dataset(schema, x, y)


@pytest.mark.parametrize("training", [True, False])
def test_accuracy_restores_the_victim_and_counts_a_tie_as_right(
    training: bool, data: Dataset, victim: ToyVictim
) -> None:
    assert accuracy(victim.train(training), data) == 26 / 30
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.zero_()
    assert accuracy(victim, data) == 1.0
    assert all(part.training == training for part in victim.modules())
    assert all(parameter.requires_grad for parameter in victim.parameters())


def test_robust_accuracy_is_the_share_that_no_attack_breaks(data: Dataset, victim: ToyVictim) -> None:
    threat, attack = ThreatModel(FullSpace(data.schema), 1), Exhaustive()
    found = attack(victim, data.ids, data.labels, threat)
    kept = int((~found.success).sum())
    assert 0 < kept < 26, "the case tests nothing"
    for goal in (None, AnyOther()):
        assert robust_accuracy(victim, data, threat, attack, goal=goal) == pytest.approx(kept / 30)


@pytest.mark.parametrize("goal", [Target("class 1"), Direction("class 0"), Direction("class 2", "class 0")])
def test_rows_that_a_goal_leaves_alone_count_by_their_clean_prediction(
    goal: Target | Direction, data: Dataset, victim: ToyVictim
) -> None:
    threat, attack = ThreatModel(FullSpace(data.schema), 1), Exhaustive()
    kept = is_right(victim.eval()(data.ids), data.labels)
    attacked = goal.of(data.labels, data.schema).possible
    assert bool((kept & attacked).any())
    assert bool((~attacked).any())
    kept[attacked] &= ~attack(victim, data.ids[attacked], data.labels[attacked], threat, goal=goal).success
    assert robust_accuracy(victim, data, threat, attack, goal=goal) == pytest.approx(int(kept.sum()) / 30)


def test_a_goal_that_attacks_no_row_leaves_the_clean_accuracy(data: Dataset, victim: ToyVictim) -> None:
    others = data.take(data.labels != 0)
    threat = ThreatModel(FullSpace(data.schema), 1)
    robust = robust_accuracy(victim, others, threat, Exhaustive(), goal=Direction("class 0"))
    assert robust == pytest.approx(accuracy(victim, others))


def test_the_first_rows_that_are_right(data: Dataset, victim: ToyVictim) -> None:
    found = correctly_classified(victim, data, 7)
    assert found.numbers.tolist() == list(range(4, 11)), "four rows are wrong"
    assert accuracy(victim, found) == 1.0
    assert len(correctly_classified(victim, data, 26)) == 26
    with pytest.raises(InputError, match="expected 27 correctly classified rows, got 26"):
        correctly_classified(victim, data, 27)
