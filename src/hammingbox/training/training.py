"""One training while it runs: what changes from step to step, and the state from which a killed run continues."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from hammingbox.data.dataset import Splits
from hammingbox.defences.base import Batch, Defence
from hammingbox.defences.standard import Standard
from hammingbox.errors import InputError
from hammingbox.seeding import generator_states, torch_generator
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batches import in_batches, normalises_batches
from hammingbox.training.config import TrainConfig
from hammingbox.training.early_stopping import budget_of_epoch, is_best, is_over
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.shared_steps import SharedSteps
from hammingbox.training.state import TrainingState
from hammingbox.training.step import Descent
from hammingbox.training.team import Team
from hammingbox.training.validation import validate
from hammingbox.types import RowFloat
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import standardise_numbers

_GENERATORS = {"cpu": "dropout", "device": "dropout_on_device"}
"""Names of the global generators' states in a file."""


class Training:
    """Everything that changes while a victim is trained."""

    def __init__(
        self,
        victim: Victim,
        splits: Splits,
        config: TrainConfig,
        defence: Defence,
        threat: ThreatModel | None,
        goal: Goal,
        team: Team,
    ) -> None:
        _check_rows(victim, splits, config)
        _check_statistics(victim, team)
        standardise_numbers(victim, splits.train)
        if threat is None:
            if not isinstance(defence, Standard) or config.robust_rows:
                raise InputError(f"expected a threat model to train {type(defence).__name__} against, got none.")
            threat = ThreatModel(FullSpace(splits.schema), 0)
        self.victim, self.splits, self.config = victim, splits, config
        self.defence, self.threat, self.goal, self.team = defence, threat, goal, team
        goal.of(splits.train.labels[:0].long(), splits.schema)  # refuses an unknown class before the first step
        defence.begin(victim, len(splits.train), threat)
        self.weights = _weights(config, splits, victim.device)
        self.identity = _identity(victim, splits, config, defence, threat, goal, team)
        self.steps = len(in_batches(torch.arange(len(splits.train), device="cpu"), config.batch_size, victim))
        self.shared, self.descent = (
            SharedSteps(team, victim, defence),
            Descent(victim, config, config.epochs * self.steps),
        )
        self.order = torch_generator(config.seed)
        self.dropout_states: Mapping[str, Tensor] = {}
        self.history: list[Epoch] = []
        self.begin, self.seconds_before = perf_counter(), 0.0
        self.best_weights = copy.deepcopy(victim.state_dict())

    @property
    def over(self) -> bool:
        """Whether all epochs are done or patience is exhausted."""
        return is_over(self.history, self.threat.budget, self.config)

    def run_epoch(self, on_step: Callable[[Progress], None]) -> None:
        """One pass over the training rows, then the accuracies on the validation rows."""
        epoch = len(self.history) + 1
        budget = budget_of_epoch(epoch, self.threat.budget, self.config)
        begin = perf_counter()
        loss, notes = self._train(epoch, ThreatModel(self.threat.space, budget), on_step)
        seconds = perf_counter() - begin
        found = validate(self.victim, self.splits.validation, self.threat, self.goal, self.config, self.team)
        full = budget == self.threat.budget
        best = full and is_best(*found.judged_by(self.config), self.history, self.config)
        if best or not full:
            self.best_weights = copy.deepcopy(self.victim.state_dict())
        self.history.append(
            Epoch(
                epoch=epoch,
                epochs=self.config.epochs,
                loss=loss,
                validation_accuracy=found.clean,
                robust_accuracy=found.robust,
                seconds=seconds,
                best=best,
                budget=budget,
                notes=notes,
                elapsed=self.seconds_before + perf_counter() - self.begin,
                balanced_accuracy=found.balanced,
                balanced_robust_accuracy=found.balanced_robust,
                worst_robust_recall=found.worst,
            )
        )

    def _train(
        self, epoch: int, threat: ThreatModel, on_step: Callable[[Progress], None]
    ) -> tuple[float, dict[str, float]]:
        """One pass over the training rows; the mean loss, and the means of the defence's own numbers."""
        rows_in_order = torch.randperm(len(self.splits.train), generator=self.order, device="cpu")
        total, notes = 0.0, _Means()
        self.victim.train()
        for number, rows in enumerate(in_batches(rows_in_order, self.config.batch_size, self.victim), 1):
            # Every step has its own seed, so the noise of inner attacks needs no state. Seeds have 63 bits: of a
            # larger seed of the training the lower 23 decide, while all of it decides weights and the order of rows.
            seed = (self.config.seed % 2**23 << 40) + (epoch - 1) * self.steps + number
            step = self.shared(self._batch(rows, seed), threat)
            self.descent.step(step.loss)
            total += step.value * len(rows)
            notes.add(step.notes, len(rows))
            on_step(Progress(epoch, number, self.steps, step.value))
        return total / len(self.splits.train), notes.values

    def _batch(self, rows: Tensor, seed: int) -> Batch:
        """Training rows on the victim's device."""
        x, y = self.splits.train.batch(rows)
        device = self.victim.device
        weights = None if self.weights is None else self.weights[y.to(device)]
        return Batch(rows.to(device), x.to(device), y.to(device), seed, self.goal, weights)

    def state(self) -> TrainingState:
        """Everything a killed run needs to end with the same weights."""
        states = generator_states(self.victim.device)
        return TrainingState(
            identity=self.identity,
            groups={
                "victim": self.victim.state_dict(),
                "best": self.best_weights,
                "defence": self.defence.state_dict(),
                "optimiser": self.descent.tensors,
                "generators": {"order": self.order.get_state()} | {_GENERATORS[k]: v for k, v in states.items()},
            },
            numbers={"history": [asdict(epoch) for epoch in self.history]} | self.descent.numbers,
        )

    def restore(self, state: TrainingState) -> None:
        """Continues where a killed run was, on the victim's device."""
        groups, generators = state.groups, state.groups["generators"]
        self.victim.load_state_dict(groups["victim"])
        self.best_weights = {name: tensor.to(self.victim.device) for name, tensor in groups["best"].items()}
        self.defence.load_state_dict(groups["defence"])
        self.descent.restore(groups["optimiser"], state.numbers)
        self.order.set_state(generators["order"])
        self.dropout_states = {key: generators[name] for key, name in _GENERATORS.items() if name in generators}
        self.history = [Epoch(**line) for line in state.numbers["history"]]
        # The first version wrote the seconds of training only.
        self.seconds_before = self.history[-1].elapsed or sum(epoch.seconds for epoch in self.history)


class _Means:
    """Means of a defence's own numbers over the rows of the steps that gave them."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, notes: Mapping[str, float], rows: int) -> None:
        for name, value in notes.items():
            total, seen = self._sums.get(name, (0.0, 0))
            self._sums[name] = total + value * rows, seen + rows

    @property
    def values(self) -> dict[str, float]:
        return {name: total / rows for name, (total, rows) in self._sums.items()}


def _check_rows(victim: Victim, splits: Splits, config: TrainConfig) -> None:
    if not len(splits.train) or not len(splits.validation):
        raise InputError(
            f"expected training and validation rows in {splits.test.name}, got {len(splits.train)} and "
            f"{len(splits.validation)}. Where only test rows are public, attack a released model instead."
        )
    if min(config.batch_size, len(splits.train)) < 2 and normalises_batches(victim):
        raise InputError(
            f"expected at least 2 rows per batch for {type(victim).__name__}, which normalises over batches, got 1. "
            "Raise the batch size."
        )


def _check_statistics(victim: Victim, team: Team) -> None:
    """On GPUs, `SyncBatchNorm` normalises over the rows of all processes; torch has nothing like it for CPUs."""
    if team.size > 1 and normalises_batches(victim) and victim.device.type == "cpu":
        raise InputError(
            f"expected a model without batch normalisation to train in {team.size} processes on the CPU, got "
            f"{type(victim).__name__}: each process would normalise over its own rows. Train in one process (leave out "
            "--workers), or on GPUs."
        )


def _weights(config: TrainConfig, splits: Splits, device: torch.device) -> RowFloat | None:
    """The weight of each class on the victim's device.

    Raises:
        InputError: not one weight per class.
    """
    if config.class_weights is None:
        return None
    classes = splits.schema.classes
    if len(config.class_weights) != len(classes):
        raise InputError(f"expected {len(classes)} class weights, got {len(config.class_weights)}.")
    return torch.tensor(config.class_weights, dtype=torch.float32, device=device)


def _identity(
    victim: Victim,
    splits: Splits,
    config: TrainConfig,
    defence: Defence,
    threat: ThreatModel,
    goal: Goal,
    team: Team,
) -> dict[str, Any]:
    """What a state must match to be continued."""
    identity: dict[str, Any] = {
        "defence": repr(defence),
        "config": config.record(),
        "budget": threat.budget,
        "space": threat.space.to_json(),
        "data_sha256": splits.train.digest,
        "validation_sha256": splits.validation.digest,
        "start_sha256": weights_digest(victim),
    }
    # States written before goals and teams existed have no such keys: the defaults write none either.
    if goal != AnyOther():
        identity["goal"] = goal.to_json()
    return identity if team.size == 1 else identity | {"number_of_workers": team.size}
