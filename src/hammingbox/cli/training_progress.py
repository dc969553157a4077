"""The progress bar of a training."""

from collections.abc import Iterator
from contextlib import contextmanager

from hammingbox.cli.console import progress
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Callbacks, Epoch, Progress


@contextmanager
def training_progress(model: str, data: str, config: TrainConfig) -> Iterator[Callbacks]:
    """Shows a bar over all steps of a training; yields the callbacks that advance it."""
    with progress() as bars:
        task = bars.add_task(f"{model} on {data}", total=None)
        accuracies = ""

        def show_step(current: Progress) -> None:
            done = (current.epoch - 1) * current.steps + current.step
            label = f"{model}: epoch {current.epoch}, loss {current.loss:.3f}{accuracies}"
            bars.update(task, total=config.epochs * current.steps, completed=done, description=label)

        def show_epoch(epoch: Epoch) -> None:
            nonlocal accuracies
            robust = epoch.robust_accuracy
            accuracies = f", clean {100 * epoch.validation_accuracy:.1f} %"
            accuracies += "" if robust is None else f", attacked {100 * robust:.1f} %"

        yield Callbacks(on_epoch=show_epoch, on_step=show_step)
