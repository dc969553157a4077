"""The training loop: one for all defences, with early stopping and a state from which a killed run continues."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import torch
from torch import Tensor

from hammingbox.attacks.swap import Swap
from hammingbox.data.dataset import Splits
from hammingbox.defences.base import Batch, Defence
from hammingbox.defences.standard import Standard
from hammingbox.errors import InputError
from hammingbox.evaluation.accuracy import rows_that_stay_right
from hammingbox.evaluation.confusion import confusion, mean_recall, recall_by_class
from hammingbox.evaluation.drawing import Draw, draw_rows
from hammingbox.seeding import borrowed_generators, generator_states, set_generators, torch_generator
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batches import in_batches, normalises_batches
from hammingbox.training.config import TrainConfig
from hammingbox.training.early_stopping import budget_of_epoch, is_best, is_over
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.state import TrainingState, read_state, write_state
from hammingbox.training.step import Descent, finite_step
from hammingbox.types import RowFloat
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import standardise_numbers

_GENERATORS = {"cpu": "dropout", "device": "dropout_on_device"}
"""Names of the global generators' states in a file."""


def fit(
    victim: Victim,
    splits: Splits,
    config: TrainConfig,
    *,
    defence: Defence | None = None,
    threat: ThreatModel | None = None,
    goal: Goal | None = None,
    folder: Path | None = None,
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
    if folder is not None and threat is not None:
        threat.space.check_identity()
    training = _Training(victim, splits, config, defence or Standard(), threat, goal or AnyOther())
    if folder is not None and (state := read_state(folder, training.identity)) is not None:
        training.restore(state)
        for epoch in training.history:
            on_epoch(epoch)
    on_epoch, on_step = _isolated(on_epoch, victim.device), _isolated(on_step, victim.device)
    # Dropout draws from the global generators: they are borrowed and given back.
    with borrowed_generators(victim.device):
        set_generators(victim.device, config.seed, training.dropout_states)
        while not training.over:
            training.run_epoch(on_step)
            if folder is not None:  # before the callback: an epoch that was shown is never lost
                write_state(folder, training.state())
            on_epoch(training.history[-1])
    victim.load_state_dict(training.best_weights)
    victim.eval()
    return training.history


_Report = TypeVar("_Report")


def _isolated(callback: Callable[[_Report], None], device: torch.device) -> Callable[[_Report], None]:
    """A callback whose own random numbers do not change the training's."""

    def call(report: _Report) -> None:
        with borrowed_generators(device):
            callback(report)

    return call


class _Training:
    """Everything that changes while a victim is trained."""

    def __init__(
        self,
        victim: Victim,
        splits: Splits,
        config: TrainConfig,
        defence: Defence,
        threat: ThreatModel | None,
        goal: Goal,
    ) -> None:
        _check_rows(victim, splits, config)
        standardise_numbers(victim, splits.train)
        if threat is None:
            if not isinstance(defence, Standard) or config.robust_rows:
                raise InputError(f"expected a threat model to train {type(defence).__name__} against, got none.")
            threat = ThreatModel(FullSpace(splits.schema), 0)
        self.victim, self.splits, self.config = victim, splits, config
        self.defence, self.threat, self.goal = defence, threat, goal
        goal.of(splits.train.labels[:0].long(), splits.schema)  # refuses an unknown class before the first step
        defence.begin(victim, len(splits.train), threat)
        self.weights = _weights(config, splits, victim.device)
        self.identity = _identity(victim, splits, config, defence, threat, goal)
        self.steps = len(in_batches(torch.arange(len(splits.train), device="cpu"), config.batch_size, victim))
        self.descent = Descent(victim, config, config.epochs * self.steps)
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
        found = self._validate()
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
            step = finite_step(self.defence, self.victim, self._batch(rows, seed), threat)
            self.descent.step(step.loss)
            total += step.loss.item() * len(rows)
            notes.add(step.notes, len(rows))
            on_step(Progress(epoch, number, self.steps, step.loss.item()))
        return total / len(self.splits.train), notes.values

    def _batch(self, rows: Tensor, seed: int) -> Batch:
        """Training rows on the victim's device."""
        x, y = self.splits.train.batch(rows)
        device = self.victim.device
        weights = None if self.weights is None else self.weights[y.to(device)]
        return Batch(rows.to(device), x.to(device), y.to(device), seed, self.goal, weights)

    def _validate(self) -> "_Validation":
        """Accuracies on validation rows."""
        self.victim.eval()
        validation = self.splits.validation
        found = confusion(self.victim, validation)
        rows = min(self.config.robust_rows, len(validation))
        if not rows or self.threat.budget == 0:
            return _Validation(found.accuracy, found.balanced_accuracy)
        # A criterion that counts classes needs rows of each; the first rows of a part may have none of a rare one.
        attacked = draw_rows(validation, Draw(rows, how="classes" if self.config.is_balanced else "first"))
        stays = rows_that_stay_right(self.victim, attacked, self.threat, Swap(), goal=self.goal)
        recall = recall_by_class(stays, attacked.labels.long().to(stays.device), len(validation.schema.classes))
        worst = min(rate.value for rate in recall if rate.rows)
        robust = 1.0 - (~stays).float().mean().item()
        return _Validation(found.accuracy, found.balanced_accuracy, robust, mean_recall(recall), worst)

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


@dataclass(frozen=True)
class _Validation:
    """Accuracies on clean and on attacked validation rows; None if no rows are attacked."""

    clean: float
    balanced: float
    robust: float | None = None
    balanced_robust: float | None = None
    worst: float | None = None

    def judged_by(self, config: TrainConfig) -> tuple[float, float | None]:
        """The two numbers that the criterion compares."""
        if config.criterion == "worst_class":
            return self.balanced, self.worst
        return (self.balanced, self.balanced_robust) if config.is_balanced else (self.clean, self.robust)


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
    victim: Victim, splits: Splits, config: TrainConfig, defence: Defence, threat: ThreatModel, goal: Goal
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
    # States written before goals existed have no such key: the default goal writes none either.
    return identity if goal == AnyOther() else identity | {"goal": goal.to_json()}
