"""Training of a defended model: from a checkpoint, or from a standard model that is trained first."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.registry import Source
from hammingbox.defences import Defence
from hammingbox.errors import FileError, InputError
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import WatchTraining, unwatched
from hammingbox.training.job import keep_finished, train_victim
from hammingbox.training.standard_job import suitable_settings, train_standard, untrained
from hammingbox.training.team import Team
from hammingbox.victims.checkpoint import CONFIG, Checkpoint, load_checkpoint

START = "start"
"""Folder, inside that of the defended model, of the standard model that the defence starts from."""


def train_defended(
    splits: Splits,
    source: Source,
    folder: Path,
    defence: Defence,
    threat: ThreatModel,
    *,
    data: str,
    goal: Goal | None = None,
    model: str | None = None,
    start: Path | None = None,
    rows: int | None = None,
    settings: Mapping[str, Any] | None = None,
    start_settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    team: Team | None = None,
    watch: WatchTraining = unwatched,
) -> dict[str, Any]:
    """Trains a model that resists a threat, writes its checkpoint, and returns the facts of the training.

    Args:
        splits: the data.
        source: what the data set knows of its model and its training.
        folder: for the checkpoint. A killed run continues from the state in it.
        defence: what is minimised.
        threat: what the attacker may do.
        data: name of the data set, for the record.
        goal: what inner attacks aim at; any class but the true one by default.
        model: name of the model; that of `start`, or the data set's own, by default.
        start: checkpoint to start from. Without it a standard model is trained first, in a folder inside `folder`.
        rows: defend on this many training rows, the first ones; all by default. A standard model is trained on all.
        settings: of `TrainConfig`; the batch size that suits the data set's own model is the default for it.
        start_settings: of `TrainConfig` for a standard model that is trained first, on top of those that suit it.
        seed: of the order of rows, dropout and inner attacks; also of a standard model that is trained first.
        device: to train on.
        overwrite: train over a finished model in the folder.
        team: processes that train together, led by this one; this one alone by default.
        watch: shows the progress.

    Raises:
        FileError: there is a finished model, or the state or start of another training, in the folder.
        InputError: the folder is that of the start, the start is another model, or a setting or class is unknown.
        VictimError: the defence cannot train this model.
    """
    if start is not None and folder.resolve() == (start.parent if start.is_file() else start).resolve():
        raise InputError(
            f"expected another folder for --out than for --start, got {folder} for both: the start would be "
            "overwritten. Choose another --out."
        )
    keep_finished(folder, overwrite)
    begin = None if start is None else load_checkpoint(start, schema=splits.schema)
    if begin is not None and model is not None and begin.model != model:
        raise InputError(f"expected a checkpoint of the model {model!r} to start from, got one of {begin.model!r}.")
    name = begin.model if begin else model or source.model
    suits = suitable_settings(source, name)
    own_size = {"batch_size": suits["batch_size"]} if "batch_size" in suits else {}
    config = TrainConfig(**(own_size | dict(settings or {})), seed=seed)
    defended = replace(splits, train=_first_rows(splits, rows))
    goal = goal or AnyOther()
    if begin is None:
        # Whatever can be refused is refused before the standard model is trained.
        goal.of(splits.train.labels[:0].long(), splits.schema)
        defence.begin(untrained(name, splits.schema, seed=seed, device=device).victim, len(defended.train), threat)
        begin = _standard_start(
            splits, source, folder / START, data, name, dict(start_settings or {}), seed, device, overwrite, team, watch
        )
    begin.victim.to(device)
    with watch(begin.model, data, config) as callbacks:
        return train_victim(
            defended, begin, config, folder,
            data=data, defence=defence, threat=threat, goal=goal, team=team, **callbacks,
        )  # fmt: skip


def _first_rows(splits: Splits, rows: int | None) -> Dataset:
    available = len(splits.train)
    if rows is not None and rows > available:
        raise InputError(f"expected at most {available} training rows, got --rows {rows}. There are no more.")
    return splits.train if rows is None else splits.train.take(slice(0, rows))


def _standard_start(
    splits: Splits,
    source: Source,
    folder: Path,
    data: str,
    model: str,
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device | str,
    overwrite: bool,
    team: Team | None,
    watch: WatchTraining,
) -> Checkpoint:
    """The standard model that a defence starts from: the one in its folder, or a new one.

    Raises:
        FileError: the one in the folder was trained with other settings or on other rows.
    """
    if (folder / CONFIG).exists():
        found = load_checkpoint(folder)
        config = TrainConfig(**(suitable_settings(source, model) | dict(settings)), seed=seed)
        expected = {"model": model, "data_sha256": splits.train.digest, "config": config.record()}
        other = ", ".join(name for name, value in expected.items() if found.training.get(name) != value)
        if not other:
            return load_checkpoint(folder, schema=splits.schema)
        if not overwrite:
            raise FileError(
                f"expected the start of this training in {folder}, got one with another {other}. "
                "Choose another --out, give a --start, or train both anew with --overwrite."
            )
    train_standard(
        splits,
        source,
        folder,
        data=data,
        model=model,
        settings=settings,
        seed=seed,
        device=device,
        overwrite=True,
        team=team,
        watch=watch,
    )
    return load_checkpoint(folder, schema=splits.schema)
