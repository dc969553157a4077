"""Training: one loop for every defence, with early stopping, and a state from which a killed run goes on."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import torch
from torch import Tensor

from hammingbox.attacks.swap import Swap
from hammingbox.data.dataset import Splits
from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.defences.standard import Standard
from hammingbox.errors import InputError, VictimError
from hammingbox.evaluation.accuracy import accuracy, robust_accuracy
from hammingbox.seeding import torch_generator
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batches import descend, in_batches, normalises_batches
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.state import TrainingState, read_state, write_state
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.victim import Victim


def fit(
    victim: Victim,
    splits: Splits,
    config: TrainConfig,
    *,
    defence: Defence | None = None,
    threat: ThreatModel | None = None,
    folder: Path | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    on_step: Callable[[Progress], None] = lambda _: None,
) -> list[Epoch]:
    """Trains a victim in place and leaves it, in eval mode, at its best validation epoch.

    With a folder, the whole state is written there after every epoch; called again with the same arguments after it
    was killed, it goes on from there and ends with the same weights as a run that was never interrupted.

    Args:
        victim: its parameters are changed.
        splits: training and validation rows.
        config: how long and how fast.
        defence: what is minimised; standard training by default.
        threat: what the attacker may do; needed by every other defence.
        folder: for the state of the training.
        on_epoch: called after each epoch, also for the epochs that a resumed run finds done.
        on_step: called after each step.

    Raises:
        InputError: there is nothing to train on, no threat to defend against, or a folder for a nameless one.
        FileError: the state in the folder belongs to another training.
        VictimError: the loss is not finite, or the defence cannot train this victim.
    """
    if folder is not None and threat is not None:
        threat.space.check_identity()
    training = _Training(victim, splits, config, defence or Standard(), threat)
    if folder is not None and (state := read_state(folder, training.identity)) is not None:
        training.restore(state)
        for epoch in training.history:
            on_epoch(epoch)
    on_epoch, on_step = _undisturbed(on_epoch), _undisturbed(on_step)
    # Dropout draws from the global generator: borrow it and give it back.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.set_state(training.dropout_state)
        while not training.over:
            training.run_epoch(on_step)
            if folder is not None:  # first: what has been shown is never lost
                write_state(folder, training.state())
            on_epoch(training.history[-1])
    victim.load_state_dict(training.best_weights)
    victim.eval()
    return training.history


Told = TypeVar("Told")


def _undisturbed(callback: Callable[[Told], None]) -> Callable[[Told], None]:
    """A callback whose own random numbers do not change the training's."""

    def call(told: Told) -> None:
        with torch.random.fork_rng(devices=[]):
            callback(told)

    return call


class _Training:
    """Everything that moves while a victim is trained."""

    def __init__(
        self, victim: Victim, splits: Splits, config: TrainConfig, defence: Defence, threat: ThreatModel | None
    ) -> None:
        if not len(splits.train) or not len(splits.validation):
            raise InputError(
                f"expected training and validation rows in {splits.test.name}, got {len(splits.train)} and "
                f"{len(splits.validation)}. Where only test rows are public, attack a released model instead."
            )
        if threat is None:
            if not isinstance(defence, Standard) or config.robust_rows:
                raise InputError(f"expected a threat model to train {type(defence).__name__} against, got none.")
            threat = ThreatModel(FullSpace(splits.schema), 0)
        if min(config.batch_size, len(splits.train)) < 2 and normalises_batches(victim):
            raise InputError(
                f"expected at least 2 rows a batch for {type(victim).__name__}, which normalises over a batch, got 1."
            )
        self.victim, self.splits, self.config, self.defence, self.threat = victim, splits, config, defence, threat
        defence.begin(victim, len(splits.train), threat)
        self.identity: dict[str, Any] = {
            "defence": repr(defence),
            "config": asdict(config),
            "budget": threat.budget,
            "space": threat.space.to_json(),
            "data_sha256": splits.train.digest,
            "validation_sha256": splits.validation.digest,
            "start_sha256": weights_digest(victim),
        }
        trained = [p for p in victim.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(trained, lr=config.learning_rate, weight_decay=config.weight_decay)
        self.steps = len(in_batches(torch.arange(len(splits.train)), config.batch_size, victim))
        whole = config.epochs * self.steps
        self.schedule: torch.optim.lr_scheduler.LRScheduler = (
            torch.optim.lr_scheduler.CosineAnnealingLR(self.optimiser, whole)
            if config.schedule == "cosine"
            else torch.optim.lr_scheduler.ConstantLR(self.optimiser, factor=1.0)
        )
        self.order = torch_generator(config.seed)
        self.dropout_state = torch_generator(config.seed).get_state()
        self.history: list[Epoch] = []
        self.begin, self.seconds_before = perf_counter(), 0.0
        self.best_weights = copy.deepcopy(victim.state_dict())

    @property
    def over(self) -> bool:
        """All epochs done, or none was better for too long; no epoch of the ramp could be."""
        best = max((e.epoch for e in self.history if e.best), default=0)
        ramped = sum(e.budget < self.threat.budget for e in self.history)
        done = len(self.history)
        return done >= self.config.epochs or done - max(best, ramped) >= self.config.patience

    def budget(self, epoch: int) -> int:
        """The budget of an epoch's inner attacks: it rises to the threat's along the ramp."""
        full = self.threat.budget
        return min(full, max(1, -(-full * epoch // self.config.ramp))) if full else 0

    def run_epoch(self, on_step: Callable[[Progress], None]) -> None:
        """One pass over the training rows, and what the validation rows say of it."""
        config, epoch = self.config, len(self.history) + 1
        begin, total, notes = perf_counter(), 0.0, _Means()
        threat = ThreatModel(self.threat.space, self.budget(epoch))
        self.victim.train()
        everything = torch.randperm(len(self.splits.train), generator=self.order)
        for number, rows in enumerate(in_batches(everything, config.batch_size, self.victim), 1):
            x, y = self.splits.train.batch(rows)
            # A seed of its own for every step: the noise of inner attacks needs no state.
            batch = Batch(rows, x, y, seed=(config.seed << 40) + (epoch - 1) * self.steps + number)
            step = self._step(batch, threat)
            descend(self.victim, self.optimiser, step.loss, config.clip)
            self.schedule.step()
            total += step.loss.item() * len(rows)
            notes.add(step.notes, len(rows))
            on_step(Progress(epoch, number, self.steps, step.loss.item()))
        seconds = perf_counter() - begin
        self.victim.eval()
        clean = accuracy(self.victim, self.splits.validation)
        robust = self._robust_accuracy()
        ready = threat.budget == self.threat.budget
        best = ready and all(
            self._score(clean, robust) > self._score(e.validation_accuracy, e.robust_accuracy)
            for e in self.history
            if e.best
        )
        if best or not ready:
            self.best_weights = copy.deepcopy(self.victim.state_dict())
        elapsed = self.seconds_before + perf_counter() - self.begin
        self.history.append(
            Epoch(
                epoch, config.epochs, total / len(self.splits.train), clean, robust, seconds, best, threat.budget,
                notes.values, elapsed,
            )
        )  # fmt: skip

    def _step(self, batch: Batch, threat: ThreatModel) -> Step:
        remedy = "got NaN or infinity. Lower the learning rate."
        try:
            step = self.defence(self.victim, batch, threat)
        except VictimError as error:
            # An inner attack looks at the victim's answers first, and knows nothing of the step that ruined them.
            with torch.no_grad():
                if self.victim(batch.x).isfinite().all():
                    raise
            raise VictimError(f"expected finite answers in training, {remedy}") from error
        if not step.loss.isfinite():
            raise VictimError(f"expected a finite training loss, {remedy}")
        return step

    def _score(self, clean: float, robust: float | None) -> float:
        if self.config.criterion == "clean" or robust is None:
            return clean
        return robust if self.config.criterion == "robust" else (clean + robust) / 2

    def _robust_accuracy(self) -> float | None:
        rows = min(self.config.robust_rows, len(self.splits.validation))
        if not rows or self.threat.budget == 0:
            return None
        return robust_accuracy(self.victim, self.splits.validation.take(slice(0, rows)), self.threat, Swap())

    def state(self) -> TrainingState:
        """Everything a killed run needs to go on to the same weights."""
        moments = {
            f"{number}.{name}": value
            for number, values in self.optimiser.state_dict()["state"].items()
            for name, value in values.items()
        }
        return TrainingState(
            identity=self.identity,
            groups={
                "victim": self.victim.state_dict(),
                "best": self.best_weights,
                "defence": self.defence.state_dict(),
                "optimiser": moments,
                "generators": {"order": self.order.get_state(), "dropout": torch.default_generator.get_state()},
            },
            numbers={
                "history": [asdict(epoch) for epoch in self.history],
                "schedule": self.schedule.state_dict(),
                "learning_rate": [group["lr"] for group in self.optimiser.param_groups],
            },
        )

    def restore(self, state: TrainingState) -> None:
        """Goes to where a killed run was."""
        groups, numbers = state.groups, state.numbers
        self.victim.load_state_dict(groups["victim"])
        self.best_weights = groups["best"]
        self.defence.load_state_dict(groups["defence"])
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in groups["optimiser"].items():
            number, name = key.split(".")
            moments.setdefault(int(number), {})[name] = value
        kept = self.optimiser.state_dict()
        for group, rate in zip(kept["param_groups"], numbers["learning_rate"], strict=True):
            group["lr"] = rate
        self.optimiser.load_state_dict(kept | {"state": moments})
        self.schedule.load_state_dict(numbers["schedule"])
        self.order.set_state(groups["generators"]["order"])
        self.dropout_state = groups["generators"]["dropout"]
        self.history = [Epoch(**line) for line in numbers["history"]]
        # A state of an earlier version knows the seconds of steps alone.
        self.seconds_before = self.history[-1].elapsed or sum(epoch.seconds for epoch in self.history)


class _Means:
    """Averages of a defence's own numbers over the rows of the steps that gave them."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, notes: Mapping[str, float], rows: int) -> None:
        for name, value in notes.items():
            total, seen = self._sums.get(name, (0.0, 0))
            self._sums[name] = total + value * rows, seen + rows

    @property
    def values(self) -> dict[str, float]:
        return {name: total / rows for name, (total, rows) in self._sums.items()}
