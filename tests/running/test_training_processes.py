"""Several processes train as one does: the same adversarial rows, the same weights, and nothing is lost or hangs."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn, optim

from hammingbox import Dataset, FullSpace, InputError, PAdvT, Splits, ThreatModel, Torchrun, TrainConfig, Victim, fit
from hammingbox.defences import DEFENCES, Defence, Standard
from hammingbox.errors import FileError, VictimError, WorkerError
from hammingbox.running.training_processes import TrainingProcesses
from hammingbox.training.batch_statistics import statistics_of_all_processes
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.state import STATE
from hammingbox.training.team import Alone
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.zoo.registry import build
from toys import toy_schema
from toys.teams import HeldVictim, RaisingElsewhere, SleepingElsewhere, WatchedPAdvT
from toys.training import KilledError, without_times

SCHEMA = toy_schema((4,) * 12)
CONFIG = TrainConfig(epochs=2, batch_size=16, robust_rows=9, criterion="mean")


@pytest.fixture(scope="module")
def two() -> Iterator[TrainingProcesses]:
    with TrainingProcesses(2) as team:
        yield team


@pytest.fixture(scope="module")
def splits() -> Splits:
    """33 training rows: the last of three batches has one row, which is only one process's."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 4, (64, 12), generator=generator)
    data = Dataset(SCHEMA, ids, (ids[:, :3].sum(1) // 4).clamp(max=2))
    return Splits(data.take(slice(0, 33)), data.take(slice(33, 50)), data.take(slice(50, 64)))


def model(dropout: float = 0.0) -> Victim:
    return build("cnn", SCHEMA, seed=0, dropout=dropout)


def train(victim: Victim, splits: Splits, defence: Defence, team: TrainingProcesses | None) -> list[Epoch]:
    return fit(victim, splits, CONFIG, defence=defence, threat=ThreatModel(FullSpace(SCHEMA), 2), team=team)


def weights(victim: Victim) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in victim.parameters()])


def test_the_adversarial_rows_of_every_step_are_those_of_one_process(splits: Splits, two: TrainingProcesses) -> None:
    found = []
    for team in (None, two):
        victim, defence = model(), WatchedPAdvT(warm=2, ascent="steepest", penalty_step=0.1)
        history = train(victim, splits, defence, team)
        found.append((victim, defence, history[-1]))
    (one, alone, last), (both, shared, also_last) = found
    assert len(alone.steps_seen) == len(shared.steps_seen) == 6
    assert all(torch.equal(a, b) for a, b in zip(alone.steps_seen, shared.steps_seen, strict=True))
    torch.testing.assert_close(weights(both), weights(one), atol=1e-5, rtol=1e-4)
    assert not torch.equal(weights(one), weights(model())), "the case tests nothing"
    penalty = alone.get_buffer("adapted_penalty")
    torch.testing.assert_close(shared.get_buffer("adapted_penalty"), penalty)
    assert penalty != alone.penalty
    assert alone.memory is not None
    assert shared.memory is not None
    assert torch.equal(alone.memory.options, shared.memory.options)
    assert also_last.loss == pytest.approx(last.loss, rel=1e-4)
    assert also_last.robust_accuracy == last.robust_accuracy


@pytest.mark.parametrize("name", [name for name in DEFENCES if name not in ("certified", "padvt")])
def test_every_defence_trains_to_the_weights_of_one_process(
    name: str, splits: Splits, two: TrainingProcesses
) -> None:  # fmt: skip
    one, both = model(), model()
    alone, shared = (train(victim, splits, DEFENCES[name](), team)[-1] for victim, team in ((one, None), (both, two)))
    torch.testing.assert_close(weights(both), weights(one), atol=1e-4, rtol=1e-3)
    assert shared.loss == pytest.approx(alone.loss, rel=1e-3)
    assert shared.notes.keys() == alone.notes.keys()


def test_a_training_whose_process_was_killed_ends_with_the_same_weights(
    splits: Splits, two: TrainingProcesses, tmp_path: Path
) -> None:
    threat = ThreatModel(FullSpace(SCHEMA), 2)

    def run(folder: Path | None, kill: bool = False) -> tuple[str, list[Epoch]]:
        def kill_helper(current: Progress) -> None:
            if kill and current.epoch == 2:
                assert two._crew is not None
                os.kill(two._crew._helpers[0].pid, signal.SIGKILL)

        victim = model(dropout=0.3)
        history = fit(
            victim, splits, CONFIG, defence=PAdvT(warm=2), threat=threat, folder=folder, team=two, on_step=kill_helper
        )
        return weights_digest(victim), history

    whole, history = run(None)
    with pytest.raises(WorkerError, match=r"got the end of process 1 \(it was killed by SIGKILL.*same command"):
        run(tmp_path, kill=True)
    assert (tmp_path / STATE).exists()
    with pytest.raises(FileError, match="another number_of_workers"):
        fit(model(dropout=0.3), splits, CONFIG, defence=PAdvT(warm=2), threat=threat, folder=tmp_path)
    resumed, again = run(tmp_path)
    assert resumed == whole
    assert without_times(again) == without_times(history)


def test_an_error_in_one_process_is_one_sentence_and_the_next_training_works(
    splits: Splits, two: TrainingProcesses
) -> None:
    with pytest.raises(WorkerError, match="an error in process 1: ArithmeticError: cursed rows"):
        train(model(), splits, RaisingElsewhere(), two)
    with pytest.raises(VictimError, match=r"got NaN or infinity\. Lower the learning rate"):
        fit(model(), splits, TrainConfig(learning_rate=1e30, batch_size=16), team=two)
    with pytest.raises(KilledError):
        fit(
            model(),
            splits,
            CONFIG,
            defence=Standard(),
            threat=ThreatModel(FullSpace(SCHEMA), 2),
            team=two,
            on_step=_kill,
        )
    assert train(model(), splits, Standard(), two)
    with pytest.raises(InputError, match="expected no process group of torch in this process"):
        train(model(), splits, Standard(), TrainingProcesses(2))
    with pytest.raises(InputError, match="a training that can be sent to other processes, got HeldVictim"):
        fit(HeldVictim(SCHEMA), splits, TrainConfig(epochs=1), team=two)


def _kill(_current: Progress) -> None:
    raise KilledError


def test_a_process_that_does_not_answer_is_given_up(splits: Splits, two: TrainingProcesses) -> None:
    two.close()  # a process is in one group at a time
    with TrainingProcesses(2, patience=15.0) as team, pytest.raises(WorkerError, match="got no answer of one"):
        train(model(), splits, SleepingElsewhere(), team)


def test_batch_statistics_are_of_all_rows_or_refused(splits: Splits) -> None:
    victim = build("char_cnn", SCHEMA, dim=4, channels=4, hidden=4)
    with pytest.raises(InputError, match="expected a model without batch normalisation to train in 2 processes"):
        train(victim, splits, Standard(), TrainingProcesses(2))
    layers = {name: layer for name, layer in victim.named_modules() if isinstance(layer, nn.BatchNorm1d)}
    before = [id(parameter) for parameter in victim.parameters()]
    with statistics_of_all_processes(victim, TrainingProcesses(2)):  # on GPUs; here only which layers there are
        assert all(isinstance(victim.get_submodule(name), nn.SyncBatchNorm) for name in layers)
        assert [id(parameter) for parameter in victim.parameters()] == before
        optim.SGD(victim.parameters(), lr=0.1)
    assert {name: victim.get_submodule(name) for name in layers} == layers
    with statistics_of_all_processes(victim, Alone()):
        assert {name: victim.get_submodule(name) for name in layers} == layers


def test_every_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(device) for device in TrainingProcesses(2, device="cuda").devices] == ["cuda:0", "cuda:1"]
    assert [str(device) for device in TrainingProcesses(1, device="cuda:1").devices] == ["cuda:1"]
    with pytest.raises(InputError, match=r"got 3 processes on cuda:0, cuda:1\. Use --workers 2 --device cuda"):
        TrainingProcesses(3, device="cuda")
    with pytest.raises(InputError, match=r"got 2 processes on cuda:1\. Use --workers 1"):
        TrainingProcesses(2, device="cuda:1")


def test_one_process_is_no_team(splits: Splits, two: TrainingProcesses) -> None:
    two.close()
    one, plain = model(dropout=0.3), model(dropout=0.3)
    with TrainingProcesses(1) as team:
        train(one, splits, Standard(), team)
    train(plain, splits, Standard(), None)
    assert weights_digest(one) == weights_digest(plain)
    with pytest.raises(InputError, match="workers"):
        TrainingProcesses(0)
    with pytest.raises(InputError, match="expected a process that torchrun started"):
        Torchrun()
