"""`fit`: which weights it keeps, what it reports, what it refuses, and that goals reach inner attacks."""

from dataclasses import replace

import pytest
import torch

from hammingbox.attacks import Swap
from hammingbox.data.dataset import Splits
from hammingbox.defences import DEFENCES, Batch, Standard
from hammingbox.defences.base import Step
from hammingbox.errors import InputError, VictimError
from hammingbox.evaluation.accuracy import accuracy, robust_accuracy
from hammingbox.threat.goal import Direction, Goal, Target
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import best_epoch
from hammingbox.training.loop import fit
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build
from toys.training import splice_threat, train_cnn


def test_the_weights_kept_are_those_of_the_best_epoch(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    # The rate is so large, and constant, that the last of many epochs is not the best.
    config = TrainConfig(epochs=12, learning_rate=5e-2, schedule="constant", patience=99)
    history = fit(victim, small, config)
    best = [epoch for epoch in history if epoch.best][-1]
    assert history[-1].validation_accuracy < best.validation_accuracy, "the case tests nothing"
    assert accuracy(victim, small.validation) == best.validation_accuracy
    assert not victim.training


def test_a_callback_that_draws_random_numbers_changes_nothing(small: Splits) -> None:
    def draw(_: object) -> None:
        torch.rand(3)

    quiet, drawing = build("cnn", small.schema, seed=0), build("cnn", small.schema, seed=0)
    fit(quiet, small, TrainConfig(epochs=2))
    fit(drawing, small, TrainConfig(epochs=2), on_epoch=draw, on_step=draw)
    assert weights_digest(quiet) == weights_digest(drawing)


def test_a_training_leaves_the_global_generator_as_it_was(small: Splits) -> None:
    before = torch.get_rng_state()
    fit(build("cnn", small.schema, seed=0), small, TrainConfig(epochs=1))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", [name for name in DEFENCES if name != "certified"])  # no bounds for this model
def test_a_model_that_normalises_over_batches_trains_on_any_number_of_rows(name: str, small: Splits) -> None:
    victim = build("char_cnn", small.schema, dim=4, channels=4, hidden=4)
    few = replace(small, train=small.train.take(slice(0, 9)))
    fit(victim, few, TrainConfig(epochs=1, batch_size=8), defence=DEFENCES[name](), threat=splice_threat(small))
    with pytest.raises(InputError, match="at least 2 rows per batch for CharCNN"):
        fit(victim, few, TrainConfig(epochs=1, batch_size=1), defence=DEFENCES[name](), threat=splice_threat(small))


def test_any_seed_trains_against_attacks(small: Splits) -> None:
    few = replace(small, train=small.train.take(slice(0, 9)))
    config = TrainConfig(epochs=1, batch_size=8, seed=2**63 - 1)
    fit(build("cnn", small.schema), few, config, defence=DEFENCES["padvt"](), threat=splice_threat(small))


def test_notes_are_averages_over_rows_that_have_them(small: Splits) -> None:
    class Noting(Standard):
        def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
            step = super().forward(victim, batch, threat)
            return Step(step.loss, {"rows": float(len(batch))} if len(batch) > 30 else {})

    victim = build("cnn", small.schema, seed=0)
    few = replace(small, train=small.train.take(slice(0, 120)))  # batches of 50, 50 and 20
    (epoch,) = fit(victim, few, TrainConfig(epochs=1, batch_size=50), defence=Noting(), threat=splice_threat(small))
    assert epoch.notes == {"rows": 50.0}


@pytest.mark.parametrize("name", ["standard", "padvt"])
def test_a_learning_rate_that_ruins_the_weights_is_named(name: str, small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    with pytest.raises(VictimError, match=r"got NaN or infinity\. Lower the learning rate"):
        fit(victim, small, TrainConfig(learning_rate=1e30), defence=DEFENCES[name](), threat=splice_threat(small))


def test_a_defence_that_is_used_again_starts_with_its_own_penalty(small: Splits) -> None:
    config, used = TrainConfig(epochs=1), DEFENCES["padvt"](penalty_step=0.1)
    first, second = (train_cnn(small, used, config)[1][0].notes["penalty"] for _ in range(2))
    assert first == second != used.penalty


def test_a_defence_needs_a_threat(small: Splits) -> None:
    with pytest.raises(InputError, match="expected a threat model to train PAdvT against"):
        fit(build("cnn", small.schema), small, TrainConfig(), defence=DEFENCES["padvt"]())


class SeesBatches(Standard):
    """Standard training that notes the goals it was given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.goals: list[Goal] = []

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        self.goals.append(batch.goal)
        return super().forward(victim, batch, threat)


def test_the_goal_reaches_every_batch_and_the_attack_on_validation_rows(small: Splits) -> None:
    goal, defence = Direction("EI", "N"), SeesBatches()
    victim = build("cnn", small.schema, seed=0)
    config = TrainConfig(epochs=4, robust_rows=30, learning_rate=1e-2)
    history = fit(victim, small, config, defence=defence, threat=splice_threat(small), goal=goal)
    assert set(defence.goals) == {goal}
    recorded, attacked = best_epoch(history).robust_accuracy, small.validation.take(slice(0, 30))
    assert recorded == robust_accuracy(victim, attacked, splice_threat(small), Swap(), goal=goal)
    assert recorded != robust_accuracy(victim, attacked, splice_threat(small), Swap()), "the case tests nothing"


def test_a_goal_changes_what_is_trained(small: Splits) -> None:
    config = TrainConfig(epochs=1)
    digests = {train_cnn(small, DEFENCES["hotflip"](), config, goal=g)[0] for g in (None, Target("N"), Direction("EI"))}
    assert len(digests) == 3


def test_a_goal_that_names_an_unknown_class_is_refused_before_the_first_step(small: Splits) -> None:
    with pytest.raises(InputError, match=r"known class \(EI, IE, N\), got 'fraud'"):
        train_cnn(small, SeesBatches(), TrainConfig(epochs=1), goal=Target("fraud"))
