"""The loop: a killed run ends with the same weights, the criterion chooses the epoch, bad states are refused."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hammingbox.data.dataset import Splits
from hammingbox.defences import DEFENCES, Batch, Defence, Standard
from hammingbox.defences.base import Step
from hammingbox.errors import FileError, InputError, VictimError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batches import descend, in_batches
from hammingbox.training.config import TrainConfig
from hammingbox.training.cost import relative_cost
from hammingbox.training.history import Epoch
from hammingbox.training.loop import fit
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build


class KilledError(Exception):
    """Stands for the end of the process between two epochs."""


@pytest.fixture(scope="module")
def small(splice_splits: Splits) -> Splits:
    return replace(
        splice_splits,
        train=splice_splits.train.take(slice(0, 160)),
        validation=splice_splits.validation.take(slice(0, 60)),
    )


def threat_on(splits: Splits, budget: int = 2) -> ThreatModel:
    return ThreatModel(MaskedSpace(splits.schema, forbidden={"*": ["N"]}), budget)


def run(
    splits: Splits,
    defence: Defence,
    config: TrainConfig,
    folder: Path | None = None,
    kill_after: int | None = None,
) -> tuple[str, list[Epoch]]:
    def killer(epoch: Epoch) -> None:
        seen.append(epoch)
        if kill_after == epoch.epoch:
            raise KilledError

    seen: list[Epoch] = []
    victim = build("cnn", splits.schema, seed=0)
    history = fit(victim, splits, config, defence=defence, threat=threat_on(splits), folder=folder, on_epoch=killer)
    assert history == seen
    return weights_digest(victim), history


@pytest.mark.parametrize("name", DEFENCES)
def test_a_killed_training_ends_with_the_same_weights(name: str, small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=3, robust_rows=10, criterion="mean", ramp=2)
    settings = {"warm": 4} if name in ("padvt", "trades") else {}
    whole, history = run(small, DEFENCES[name](**settings), config)
    # The first kill strikes when an epoch is shown, the second within the next one: that epoch is done again.
    with pytest.raises(KilledError):
        run(small, DEFENCES[name](**settings), config, tmp_path, kill_after=1)
    assert (tmp_path / STATE).exists(), "what was shown is stored"
    run_until(small, DEFENCES[name](**settings), config, tmp_path, epochs=1)
    resumed, again = run(small, DEFENCES[name](**settings), config, tmp_path)
    assert resumed == whole
    assert [timeless(epoch) for epoch in again] == [timeless(epoch) for epoch in history]


def timeless(epoch: Epoch) -> Epoch:
    return replace(epoch, seconds=0.0, elapsed=0.0)


def run_until(splits: Splits, defence: Defence, config: TrainConfig, folder: Path, epochs: int) -> None:
    """Runs until the state of some epochs is on disk: the first step of the next epoch ends it."""

    def stop(at: object) -> None:
        if getattr(at, "epoch") > epochs:  # noqa: B009
            raise KilledError

    victim = build("cnn", splits.schema, seed=0)
    with pytest.raises(KilledError):
        fit(victim, splits, config, defence=defence, threat=threat_on(splits), folder=folder, on_step=stop)
    assert (folder / STATE).exists()


def test_a_state_of_another_training_is_refused(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    run_until(small, DEFENCES["hotflip"](), config, tmp_path, epochs=1)
    with pytest.raises(FileError, match=r"another defence\. Choose another folder"):
        run(small, DEFENCES["swap"](), config, tmp_path)
    with pytest.raises(FileError, match="another config"):
        run(small, DEFENCES["hotflip"](), replace(config, seed=1), tmp_path)


def test_a_state_of_other_validation_rows_is_refused(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    run_until(small, DEFENCES["standard"](), config, tmp_path, epochs=1)
    other = replace(small, validation=small.validation.take(slice(0, 50)))
    with pytest.raises(FileError, match="another validation_sha256"):
        run(other, DEFENCES["standard"](), config, tmp_path)


def test_a_state_of_the_first_version_is_continued(small: Splits, tmp_path: Path) -> None:
    """It said nothing of validation rows, nor of the time that had passed."""
    config = TrainConfig(epochs=2)
    whole, _ = run(small, DEFENCES["standard"](), config)
    run_until(small, DEFENCES["standard"](), config, tmp_path, epochs=1)
    content = (tmp_path / STATE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    metadata = {name: json.loads(value) for name, value in header["__metadata__"].items()}
    del metadata["identity"]["validation_sha256"]
    for line in metadata["numbers"]["history"]:
        del line["elapsed"]
        line["seconds"] = 500.0
    header["__metadata__"] = {name: json.dumps(value) for name, value in metadata.items()}
    text = json.dumps(header).encode()
    (tmp_path / STATE).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    resumed, history = run(small, DEFENCES["standard"](), config, tmp_path)
    assert resumed == whole
    assert history[-1].elapsed > 500.0


def test_time_adds_up_over_sittings(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=3)
    run_until(small, DEFENCES["standard"](), config, tmp_path, epochs=2)
    _, history = run(small, DEFENCES["standard"](), config, tmp_path)
    assert 0 < history[0].elapsed < history[1].elapsed < history[2].elapsed
    assert history[2].elapsed > sum(epoch.seconds for epoch in history)


def test_a_nameless_rule_has_no_state_to_go_on_from(small: Splits, tmp_path: Path) -> None:
    space = MaskedSpace(small.schema, rule=lambda ids: torch.ones(*ids.shape, 5, dtype=torch.bool))
    victim = build("cnn", small.schema, seed=0)
    with pytest.raises(InputError, match="Pass rule_name="):
        fit(victim, small, TrainConfig(epochs=1), threat=ThreatModel(space, 1), folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_damaged_state_is_refused(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    run_until(small, DEFENCES["standard"](), config, tmp_path, epochs=1)
    content = (tmp_path / STATE).read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"\0" * 64):
        (tmp_path / STATE).write_bytes(damaged)
        with pytest.raises(FileError, match="damaged"):
            run(small, DEFENCES["standard"](), config, tmp_path)


def test_the_criterion_chooses_the_epoch(small: Splits) -> None:
    scores = {
        "clean": lambda epoch: epoch.validation_accuracy,
        "robust": lambda epoch: epoch.robust_accuracy,
        "mean": lambda epoch: (epoch.validation_accuracy + epoch.robust_accuracy) / 2,
    }
    for criterion, score in scores.items():
        config = TrainConfig(epochs=4, robust_rows=40, criterion=criterion, learning_rate=2e-2)
        _, history = run(small, DEFENCES["standard"](), config)
        best = [epoch for epoch in history if epoch.best]
        assert score(best[-1]) == max(score(epoch) for epoch in history)


def test_the_weights_kept_are_those_of_the_best_epoch(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    # So large and constant a rate that the last of many epochs is not the best.
    config = TrainConfig(epochs=12, learning_rate=5e-2, schedule="constant", patience=99)
    history = fit(victim, small, config)
    best = [epoch for epoch in history if epoch.best][-1]
    assert history[-1].validation_accuracy < best.validation_accuracy, "the case tests nothing"
    assert accuracy(victim, small.validation) == best.validation_accuracy


def test_gradients_are_clipped(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    x, _ = small.train.batch(slice(0, 8))
    descend(victim, torch.optim.SGD(victim.parameters(), lr=0.0), 1e6 * victim(x).square().mean(), 0.5)
    assert torch.cat([p.grad.flatten() for p in victim.parameters()]).norm() == pytest.approx(0.5, rel=1e-3)


def test_a_callback_that_draws_random_numbers_changes_nothing(small: Splits) -> None:
    digests = []
    for draws in (0, 3):
        victim = build("cnn", small.schema, seed=0)
        fit(
            victim, small, TrainConfig(epochs=2),
            on_epoch=lambda _, n=draws: torch.rand(n), on_step=lambda _, n=draws: torch.rand(n),
        )  # fmt: skip
        digests.append(weights_digest(victim))
    assert digests[0] == digests[1]


@pytest.mark.parametrize(("rows", "sizes"), [(129, [64, 65]), (128, [64, 64]), (1, [1]), (65, [65])])
def test_one_row_left_over_joins_the_last_batch(rows: int, sizes: list[int]) -> None:
    normalises = OneHot(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(8)), categories=4)
    parts = in_batches(torch.arange(rows), 64, normalises)
    assert [len(part) for part in parts] == sizes
    assert torch.equal(torch.cat(parts), torch.arange(rows))
    plain = OneHot(torch.nn.Flatten(), categories=4)
    assert [len(part) for part in in_batches(torch.arange(129), 64, plain)] == [64, 64, 1]


@pytest.mark.parametrize("name", DEFENCES)
def test_a_net_that_normalises_over_batches_trains_on_any_number_of_rows(name: str, small: Splits) -> None:
    victim = build("char_cnn", small.schema, dim=4, channels=4, hidden=4)
    few = replace(small, train=small.train.take(slice(0, 9)))
    fit(victim, few, TrainConfig(epochs=1, batch_size=8), defence=DEFENCES[name](), threat=threat_on(small))
    with pytest.raises(InputError, match="at least 2 rows a batch for CharCNN"):
        fit(victim, few, TrainConfig(epochs=1, batch_size=1), defence=DEFENCES[name](), threat=threat_on(small))


def test_notes_are_averages_over_rows_that_have_them(small: Splits) -> None:
    class Noting(Standard):
        def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
            step = super().forward(victim, batch, threat)
            return Step(step.loss, {"rows": float(len(batch))} if len(batch) > 30 else {})

    victim = build("cnn", small.schema, seed=0)
    few = replace(small, train=small.train.take(slice(0, 120)))  # batches of 50, 50 and 20
    (epoch,) = fit(victim, few, TrainConfig(epochs=1, batch_size=50), defence=Noting(), threat=threat_on(small))
    assert epoch.notes == {"rows": 50.0}


@pytest.mark.parametrize("name", ["standard", "padvt"])
def test_a_ruinous_learning_rate_is_named(name: str, small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    with pytest.raises(VictimError, match=r"got NaN or infinity\. Lower the learning rate"):
        fit(victim, small, TrainConfig(learning_rate=1e30), defence=DEFENCES[name](), threat=threat_on(small))


def test_the_ramp_raises_the_budget_and_no_epoch_before_its_end_is_best(small: Splits) -> None:
    _, history = run(small, DEFENCES["hotflip"](), TrainConfig(epochs=3, ramp=2))
    assert [epoch.budget for epoch in history] == [1, 2, 2]
    assert not history[0].best


def test_patience_begins_at_the_end_of_the_ramp(small: Splits) -> None:
    def budgets(**settings: int) -> list[int]:
        victim = build("cnn", small.schema, seed=0)
        config = TrainConfig(learning_rate=1e-9, **settings)  # too small a rate for any later epoch to be better
        history = fit(victim, small, config, defence=DEFENCES["hotflip"](), threat=threat_on(small, 4))
        return [epoch.budget for epoch in history]

    assert budgets(epochs=9, ramp=4, patience=2) == [1, 2, 3, 4, 4, 4]
    assert budgets(epochs=9, patience=2) == [4, 4, 4]
    with pytest.raises(InputError, match=r"expected a ramp of at most the 3 epochs, got 4: .* Shorten the ramp"):
        TrainConfig(epochs=3, ramp=4)


def test_a_defence_that_is_used_again_starts_with_its_own_penalty(small: Splits) -> None:
    config, used = TrainConfig(epochs=1), DEFENCES["padvt"](penalty_step=0.1)
    first, second = (run(small, used, config)[1][0].notes["penalty"] for _ in range(2))
    assert first == second != used.penalty


def test_settings_that_make_no_sense_are_refused(small: Splits) -> None:
    with pytest.raises(InputError, match="robust_rows above 0"):
        TrainConfig(criterion="robust")
    with pytest.raises(InputError, match="expected learning_rate above 0"):
        TrainConfig(learning_rate=0.0)
    with pytest.raises(InputError, match=r"expected a seed below 2\*\*63"):
        TrainConfig(seed=2**64)
    with pytest.raises(InputError, match="expected learning_rate as a finite number, got inf"):
        TrainConfig(learning_rate=float("inf"))
    with pytest.raises(InputError, match="expected a threat model to train PAdvT against"):
        fit(build("cnn", small.schema), small, TrainConfig(), defence=DEFENCES["padvt"]())


def test_the_learning_rate_stays_or_falls(small: Splits) -> None:
    """With a constant rate the last epoch still moves the weights by about as much as the first."""
    moved = {}
    for schedule in ("cosine", "constant"):
        weights: list[torch.Tensor] = []
        victim = build("cnn", small.schema, seed=0)

        def note(_: Epoch, weights: list[torch.Tensor] = weights, victim: torch.nn.Module = victim) -> None:
            weights.append(torch.cat([p.detach().flatten().clone() for p in victim.parameters()]))

        fit(victim, small, TrainConfig(epochs=6, patience=9, schedule=schedule), on_epoch=note)  # type: ignore[arg-type]
        moved[schedule] = ((weights[-1] - weights[-2]).norm() / (weights[1] - weights[0]).norm()).item()
    assert moved["cosine"] < 0.5 * moved["constant"]


def test_cost_is_measured_without_learning(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    before = weights_digest(victim)
    defence = DEFENCES["padvt"](warm=2)
    assert relative_cost(victim, small, defence, threat_on(small), steps=2) > 1.0
    assert weights_digest(victim) == before
    assert defence.memory is None


def test_cost_is_measured_on_a_single_batch_too(small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0)
    assert relative_cost(victim, small, DEFENCES["padvt"](), threat_on(small), batch_size=len(small.train)) > 1.0


@pytest.mark.parametrize("training", [True, False])
def test_accuracy_gives_the_victim_back_and_counts_a_tie_for_it(training: bool, small: Splits) -> None:
    victim = build("cnn", small.schema, seed=0).train(training)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.zero_()
    assert accuracy(victim, small.validation) == 1.0
    assert all(part.training == training for part in victim.modules())
    assert all(parameter.requires_grad for parameter in victim.parameters())


def test_a_state_is_plain_tensors_and_json(small: Splits, tmp_path: Path) -> None:
    run_until(small, DEFENCES["padvt"](), TrainConfig(epochs=2), tmp_path, epochs=1)
    content = (tmp_path / STATE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert re.search(r"PAdvT\(", json.loads(header["__metadata__"]["identity"])["defence"])
    assert "defence/adapted_penalty" in header
