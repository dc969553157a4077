"""One training from start to checkpoint: fit, history, and the facts that are recorded and reported."""

import csv
import io
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.defences import Defence, Standard
from hammingbox.errors import FileError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.files import write_bytes
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.cost import relative_cost
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.loop import fit
from hammingbox.training.state import STATE, forget_state
from hammingbox.victims.checkpoint import CONFIG, Checkpoint

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
    splits: Splits,
    start: Checkpoint,
    config: TrainConfig,
    folder: Path,
    *,
    data: str,
    defence: Defence | None = None,
    threat: ThreatModel | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    on_step: Callable[[Progress], None] = lambda _: None,
) -> dict[str, Any]:
    """Trains a victim, writes its checkpoint and history, and returns the facts of the training.

    Args:
        splits: the data.
        start: the victim to train; its weights are changed.
        config: how long and how fast.
        folder: for the checkpoint. A killed run resumes from what it left there.
        data: name of the data set, for the record.
        defence: what is minimised.
        threat: what the attacker may do.
        on_epoch: called after each epoch.
        on_step: called after each step.
    """
    victim, name = start.victim, start.model
    defence = defence or Standard()
    history: list[Epoch] = []

    def record(epoch: Epoch) -> None:
        history.append(epoch)
        write_history(history, folder / HISTORY)
        on_epoch(epoch)

    fit(victim, splits, config, defence=defence, threat=threat, folder=folder, on_epoch=record, on_step=on_step)
    best = max((epoch for epoch in history if epoch.best), key=lambda epoch: epoch.epoch, default=history[-1])
    facts: dict[str, Any] = {
        "data": data,
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
