"""The progress bar of a training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hammingbox.cli.console import progress
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch, Progress


@contextmanager
def training_progress(model: str, data: str, config: TrainConfig) -> Iterator[dict[str, Callable[[Any], None]]]:
    """A bar over all steps of a training; yields the callbacks that move it, as arguments of `train_victim`."""
    with progress() as bars:
        task = bars.add_task(f"{model} on {data}", total=None)
        accuracies = ""

        def show_step(at: Progress) -> None:
            done = (at.epoch - 1) * at.steps + at.step
            label = f"{model}: epoch {at.epoch}, loss {at.loss:.3f}{accuracies}"
            bars.update(task, total=config.epochs * at.steps, completed=done, description=label)

        def show_epoch(epoch: Epoch) -> None:
            nonlocal accuracies
            robust = epoch.robust_accuracy
            accuracies = f", clean {100 * epoch.validation_accuracy:.1f} %"
            accuracies += "" if robust is None else f", attacked {100 * robust:.1f} %"

        yield {"on_epoch": show_epoch, "on_step": show_step}
