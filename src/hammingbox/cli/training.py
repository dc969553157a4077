"""What `train` and `defend` share: the progress bar, the checkpoint, the history, and what is reported."""

import csv
import io
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hammingbox.cli.console import progress
from hammingbox.cli.options import Opened
from hammingbox.defences import Defence, Standard
from hammingbox.errors import FileError
from hammingbox.files import write_bytes
from hammingbox.models.checkpoint import CONFIG, Checkpoint
from hammingbox.space import ThreatModel
from hammingbox.train import Epoch, Progress, TrainConfig, accuracy, fit
from hammingbox.training_cost import relative_cost
from hammingbox.training_state import STATE, forget_state

HISTORY = "history.csv"


def keep_finished(folder: Path, overwrite: bool) -> None:
    """Refuses to train over a model that is finished; one whose training was killed is gone on with.

    Raises:
        FileError: there is a finished model in the folder, and nobody said that it may go.
    """
    if not overwrite and (folder / CONFIG).exists() and not (folder / STATE).exists():
        raise FileError(
            f"expected a folder for a new model, got {folder} with a finished one. "
            "Use it as it is, choose another --out, or train anew with --overwrite."
        )


def train_victim(
    opened: Opened,
    start: Checkpoint,
    config: TrainConfig,
    folder: Path,
    *,
    defence: Defence | None = None,
    threat: ThreatModel | None = None,
) -> dict[str, Any]:
    """Trains, writes checkpoint and history, and returns how it went.

    Args:
        opened: the data.
        start: the victim to train, which is changed.
        config: how long and how fast.
        folder: for the checkpoint; a killed run goes on from what it left there.
        defence: what is minimised.
        threat: what the attacker may do.
    """
    splits, victim, name = opened.splits, start.victim, start.model
    defence = defence or Standard()
    with progress() as bars:
        task = bars.add_task(f"{name} on {opened.name}", total=None)
        accuracies = ""

        def show_step(at: Progress) -> None:
            done = (at.epoch - 1) * at.steps + at.step
            label = f"{name}: epoch {at.epoch}, loss {at.loss:.3f}{accuracies}"
            bars.update(task, total=config.epochs * at.steps, completed=done, description=label)

        def show_epoch(epoch: Epoch) -> None:
            nonlocal accuracies
            robust = epoch.robust_accuracy
            accuracies = f", clean {100 * epoch.validation_accuracy:.1f} %"
            accuracies += "" if robust is None else f", attacked {100 * robust:.1f} %"
            history.append(epoch)
            write_history(history, folder / HISTORY)

        history: list[Epoch] = []
        fit(
            victim, splits, config, defence=defence, threat=threat, folder=folder,
            on_epoch=show_epoch, on_step=show_step,
        )  # fmt: skip
    best = max((epoch for epoch in history if epoch.best), key=lambda epoch: epoch.epoch, default=history[-1])
    facts: dict[str, Any] = {
        "data": opened.name,
        "data_sha256": splits.train.digest,
        "model": name,
        "defence": repr(defence),
        "budget": 0 if threat is None else threat.budget,
        "config": asdict(config),
        "epochs": len(history),
        "best_epoch": best.epoch,
        "train_rows": len(splits.train),
        "seconds": history[-1].elapsed,
        "epoch_seconds": sum(epoch.seconds for epoch in history) / len(history),
        "validation_accuracy": accuracy(victim, splits.validation),
        "robust_validation_accuracy": best.robust_accuracy,
        "test_accuracy": accuracy(victim, splits.test),
    }
    if threat is not None:
        facts["cost_of_an_epoch"] = relative_cost(victim, splits, defence, threat, batch_size=config.batch_size)
    training = facts | {"history": [asdict(epoch) for epoch in history]}
    Checkpoint(victim, name, start.settings, splits.schema, training).save(folder)
    forget_state(folder)
    return facts


def write_history(history: list[Epoch], path: Path) -> None:
    """Writes one line an epoch; the defence's own numbers are columns beside the common ones."""
    notes = sorted({name for epoch in history for name in epoch.notes})
    columns = [field.name for field in fields(Epoch) if field.name != "notes"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *notes])
    for epoch in history:
        writer.writerow([*(getattr(epoch, name) for name in columns), *(epoch.notes.get(name, "") for name in notes)])
    write_bytes(path, text.getvalue().encode())
