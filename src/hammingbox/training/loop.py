"""The training loop: one for all defences, with early stopping and a state from which a killed run continues."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

from hammingbox.data.dataset import Splits
from hammingbox.defences.base import Defence
from hammingbox.defences.standard import Standard
from hammingbox.seeding import borrowed_generators, set_generators
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batch_statistics import statistics_of_all_processes
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.state import TrainingState, read_state, write_state
from hammingbox.training.team import Alone, Team
from hammingbox.training.training import Training
from hammingbox.victims.victim import Victim


def fit(
    victim: Victim,
    splits: Splits,
    config: TrainConfig,
    *,
    defence: Defence | None = None,
    threat: ThreatModel | None = None,
    goal: Goal | None = None,
    folder: Path | None = None,
    team: Team | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    on_step: Callable[[Progress], None] = lambda _: None,
) -> list[Epoch]:
    """Trains a victim in place, on its device, and leaves it in eval mode with the weights of its best epoch.

    With a folder, the whole state is written there after every epoch. Called again with the same arguments after it
    was killed, it continues from there; on the same kind of device it ends with the same weights as a run that was
    never interrupted.

    Args:
        victim: its parameters are changed.
        splits: training and validation rows.
        config: how long and how fast.
        defence: what is minimised; standard training by default.
        threat: what the attacker may do; required by every other defence.
        goal: what inner attacks and the attack on validation rows aim at; any class but the true one by default. Rows
            of classes that the goal does not attack are trained clean.
        folder: for the state of the training.
        team: processes that share the rows of every step, such as `TrainingProcesses`; this process alone by default.
            Only the first of them reads and writes files and calls back. A killed run ends with the same weights if
            it is continued with the same number.
        on_epoch: called after each epoch, and at the start of a resumed run for each epoch that is already done.
        on_step: called after each step.

    Returns:
        One line per epoch.

    Raises:
        InputError: there are no rows to train on, no threat to defend against, a goal that names an unknown class, or
            a folder for a threat that cannot be identified.
        FileError: the state in the folder belongs to another training.
        VictimError: the loss is not finite, or the defence cannot train this victim.
    """
    team = team or Alone()
    if team.rank:
        return _follow(team, victim)
    if folder is not None and threat is not None:
        threat.space.check_identity()
    training = Training(victim, splits, config, defence or Standard(), threat, goal or AnyOther(), team)
    state = None if folder is None else read_state(folder, training.identity)
    if state is not None:
        training.restore(state)
        for epoch in training.history:
            on_epoch(epoch)

    def keep_epoch() -> None:
        if folder is not None:  # before the callback: an epoch that was shown is never lost
            write_state(folder, training.state())
        _isolated(on_epoch, victim.device)(training.history[-1])

    job = TrainingJob(victim, splits, config, training.defence, training.threat, training.goal, state)
    with team.leading(job):
        _run(training, _isolated(on_step, victim.device), keep_epoch)
    victim.load_state_dict(training.best_weights)
    victim.eval()
    return training.history


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A training as the first process of a team tells it to the others."""

    victim: Victim
    splits: Splits
    config: TrainConfig
    defence: Defence
    threat: ThreatModel
    goal: Goal
    state: TrainingState | None


def serve(team: Team) -> None:
    """Takes part in all trainings of a team that another process leads, until there are none."""
    while (job := team.next_job()) is not None:
        _take_part(team, job)


def _follow(team: Team, victim: Victim) -> list[Epoch]:
    """Takes part in one training that another process leads; this process's victim gets the same weights."""
    job = team.next_job()
    if job is None:
        return []
    training = _take_part(team, job)
    victim.load_state_dict(training.best_weights)
    victim.eval()
    return training.history


def _take_part(team: Team, job: TrainingJob) -> Training:
    with team.in_step():
        training = Training(job.victim, job.splits, job.config, job.defence, job.threat, job.goal, team)
        if job.state is not None:
            training.restore(job.state)
        team.exchange(None)
    _run(training, lambda _: None, lambda: None)
    return training


def _run(training: Training, on_step: Callable[[Progress], None], after_epoch: Callable[[], None]) -> None:
    device, victim = training.victim.device, training.victim
    # Dropout draws from the global generators: they are borrowed and given back.
    with borrowed_generators(device), statistics_of_all_processes(victim, training.team):
        set_generators(device, training.config.seed, training.dropout_states)
        while not training.over:
            training.run_epoch(on_step)
            after_epoch()


_Report = TypeVar("_Report")


def _isolated(callback: Callable[[_Report], None], device: torch.device) -> Callable[[_Report], None]:
    """A callback whose own random numbers do not change the training's."""

    def call(report: _Report) -> None:
        with borrowed_generators(device):
            callback(report)

    return call
