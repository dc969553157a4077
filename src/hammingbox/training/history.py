"""What a training reports while it runs: one line per epoch, the current step, and who listens."""

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypedDict

from hammingbox.files import write_bytes
from hammingbox.training.config import TrainConfig

HISTORY = "history.csv"


@dataclass(frozen=True)
class Epoch:
    """One line of a training history.

    Attributes:
        epoch: counted from 1.
        epochs: maximum number of epochs.
        loss: average over the training rows.
        validation_accuracy: on clean validation rows.
        robust_accuracy: on attacked validation rows; None if none were attacked.
        seconds: of training, without validation.
        best: no earlier epoch was better by the criterion.
        budget: of this epoch's inner attacks.
        notes: the defence's own numbers, averaged over the epoch.
        elapsed: seconds from the start of the training to the end of this epoch, with validation. In a resumed run the
            time of earlier sessions is included, the time between sessions is not.
        balanced_accuracy: mean recall of the classes on clean validation rows; None in records of earlier versions.
        balanced_robust_accuracy: the same on attacked validation rows.
        worst_robust_recall: the smallest recall of a class on attacked validation rows.
    """

    epoch: int
    epochs: int
    loss: float
    validation_accuracy: float
    robust_accuracy: float | None
    seconds: float
    best: bool
    budget: int
    notes: dict[str, float] = field(default_factory=dict)
    elapsed: float = 0.0
    balanced_accuracy: float | None = None
    balanced_robust_accuracy: float | None = None
    worst_robust_recall: float | None = None


@dataclass(frozen=True)
class Progress:
    """The current step of an epoch."""

    epoch: int
    step: int
    steps: int
    loss: float


class Callbacks(TypedDict, total=False):
    """What `fit` calls after each epoch and after each step."""

    on_epoch: Callable[[Epoch], None]
    on_step: Callable[[Progress], None]


WatchTraining = Callable[[str, str, TrainConfig], AbstractContextManager[Callbacks]]
"""Shows the progress of a training: called with the names of model and data, it gives the callbacks of `fit`."""


@contextmanager
def unwatched(_model: str, _data: str, _config: TrainConfig) -> Iterator[Callbacks]:
    """A `WatchTraining` that shows nothing."""
    yield Callbacks()


def best_epoch(history: list[Epoch]) -> Epoch:
    """The epoch whose weights are kept: the last that was the best; the last of all if none was."""
    return max((epoch for epoch in history if epoch.best), key=lambda epoch: epoch.epoch, default=history[-1])


def write_history(history: list[Epoch], path: Path) -> None:
    """Writes one line per epoch; the defence's own numbers are columns after the common ones."""
    notes = sorted({name for epoch in history for name in epoch.notes})
    columns = [field.name for field in fields(Epoch) if field.name != "notes"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *notes])
    for epoch in history:
        writer.writerow([*(getattr(epoch, name) for name in columns), *(epoch.notes.get(name, "") for name in notes)])
    write_bytes(path, text.getvalue().encode())
