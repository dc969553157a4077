"""One training from start to checkpoint: fit, history, and the facts that are recorded and reported."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.defences import Defence, Standard
from hammingbox.errors import FileError
from hammingbox.evaluation.accuracy import accuracy, clean_answers
from hammingbox.evaluation.confusion import confusion_of
from hammingbox.files import sha256
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.cost import relative_cost
from hammingbox.training.doubts import training_doubts
from hammingbox.training.history import HISTORY, Epoch, Progress, best_epoch, write_history
from hammingbox.training.loop import fit
from hammingbox.training.state import STATE, forget_state
from hammingbox.training.team import Team
from hammingbox.victims.checkpoint import CONFIG, Checkpoint, weights_digest

_OF_THE_START = ("vectors", "words_with_vectors")
"""Facts of a start that its successors inherit: the word vectors that the first of them began with."""

RECORD = ("data", "data_sha256", "model", "config", "epochs", "seconds", "test_accuracy")
"""What the record of every victim says, whether it was trained on clean rows, defended, or released by others."""


def keep_finished(folder: Path, overwrite: bool) -> None:
    """Refuses to train over a finished model. A model whose training was killed may be continued.

    Raises:
        FileError: the folder holds a finished model, and `overwrite` is off.
    """
    if not overwrite and (folder / CONFIG).exists() and not (folder / STATE).exists():
        raise FileError(
            f"expected a folder for a new model, got {folder} with a finished one. "
            "Use it as it is, choose another --out, or train anew with --overwrite."
        )


def space_sha256(threat: ThreatModel) -> str:
    """Identifies S(x) in the facts of a training."""
    return sha256(json.dumps(threat.space.to_json(), ensure_ascii=False, sort_keys=True).encode())


def train_victim(
    splits: Splits,
    start: Checkpoint,
    config: TrainConfig,
    folder: Path,
    *,
    data: str,
    defence: Defence | None = None,
    threat: ThreatModel | None = None,
    goal: Goal | None = None,
    team: Team | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    on_step: Callable[[Progress], None] = lambda _: None,
) -> dict[str, Any]:
    """Trains a victim on its device, writes its checkpoint and history, and returns the facts of the training.

    Args:
        splits: the data.
        start: the victim to train; its weights are changed.
        config: how long and how fast.
        folder: for the checkpoint. A killed run continues from the state in it.
        data: name of the data set, for the record.
        defence: what is minimised; standard training by default.
        threat: what the attacker may do.
        goal: what inner attacks aim at; any class but the true one by default.
        team: processes that train together, led by this one; this one alone by default.
        on_epoch: called after each epoch.
        on_step: called after each step.
    """
    victim, name = start.victim, start.model
    defence, goal, start_sha256 = defence or Standard(), goal or AnyOther(), weights_digest(start.victim)
    history: list[Epoch] = []

    def record(epoch: Epoch) -> None:
        history.append(epoch)
        write_history(history, folder / HISTORY)
        on_epoch(epoch)

    fit(
        victim, splits, config,
        defence=defence, threat=threat, goal=goal, folder=folder, team=team, on_epoch=record, on_step=on_step,
    )  # fmt: skip
    best, answers = best_epoch(history), clean_answers(victim, splits.test)
    tested = confusion_of(answers, splits.test)
    facts: dict[str, Any] = {
        "data": data,
        "data_sha256": splits.train.digest,
        "test_sha256": splits.test.digest,
        "model": name,
        "defence": repr(defence),
        "budget": 0 if threat is None else threat.budget,
        "config": config.record(),
        "epochs": len(history),
        "best_epoch": best.epoch,
        "train_rows": len(splits.train),
        "seconds": history[-1].elapsed,
        "epoch_seconds": sum(epoch.seconds for epoch in history) / len(history),
        "validation_accuracy": accuracy(victim, splits.validation),
        "robust_validation_accuracy": best.robust_accuracy,
        "test_accuracy": tested.accuracy,
        **tested.to_json("test_"),
        "given_up": list(tested.given_up),
        "findings": training_doubts(answers, splits),
    }
    if team is not None and team.size > 1:
        facts["workers"] = team.size
    if threat is not None:
        facts["goal"] = goal.to_json()
        facts["space_sha256"], facts["start_sha256"] = space_sha256(threat), start_sha256
        facts["cost_of_an_epoch"] = relative_cost(
            victim, splits, defence, threat, goal=goal, batch_size=config.batch_size
        )
    facts |= {name: start.training[name] for name in _OF_THE_START if name in start.training}
    training = facts | {"history": [asdict(epoch) for epoch in history]}
    Checkpoint(victim, name, start.settings, splits.schema, training).save(folder)
    forget_state(folder)
    return facts
