"""Standard training of a new model, with the settings that suit it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.dataset import Splits
from hammingbox.data.registry import Source
from hammingbox.data.schema import Schema
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import WatchTraining, unwatched
from hammingbox.training.job import keep_finished, train_victim
from hammingbox.training.team import Team
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.vector_files import vector_size
from hammingbox.victims.word_vectors import use_vectors
from hammingbox.victims.zoo.registry import build


def train_standard(
    splits: Splits,
    source: Source,
    folder: Path,
    *,
    data: str,
    model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    vectors: Path | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    team: Team | None = None,
    watch: WatchTraining = unwatched,
) -> dict[str, Any]:
    """Trains a new model on clean rows, writes its checkpoint, and returns the facts of the training.

    Args:
        splits: the data.
        source: what the data set knows of its model and its training.
        folder: for the checkpoint. A killed run continues from the state in it.
        data: name of the data set, for the record.
        model: name of the model; the data set's own by default.
        settings: of `TrainConfig`, on top of those that suit the data set's own model.
        vectors: file of word vectors to start from; the model's word vectors have their size.
        seed: of the initial weights, the order of rows and dropout.
        device: to train on.
        overwrite: train over a finished model in the folder.
        team: processes that train together, led by this one; this one alone by default.
        watch: shows the progress.

    Raises:
        FileError: there is a finished model, or the state of another training, in the folder, or the word vectors
            are missing or damaged.
        InputError: the model or a setting is unknown, or the model has no word vectors.
    """
    keep_finished(folder, overwrite)
    name = model or source.model
    config = TrainConfig(**(suitable_settings(source, name) | dict(settings or {})), seed=seed)
    start = untrained(name, splits.schema, seed=seed, device=device, vectors=vectors)
    with watch(name, data, config) as callbacks:
        return train_victim(splits, start, config, folder, data=data, team=team, **callbacks)


def suitable_settings(source: Source, model: str) -> dict[str, Any]:
    """The settings of `TrainConfig` that suit a model on a data set, where the defaults do not."""
    return dict(source.training) if model == source.model else {}


def untrained(
    model: str, schema: Schema, *, seed: int, device: torch.device | str = "cpu", vectors: Path | None = None
) -> Checkpoint:
    """A new model with default settings and weights drawn from a seed: the same weights on every device.

    With a file of word vectors, the model's word vectors have their size and begin with them.
    """
    if vectors is None:
        return Checkpoint(build(model, schema, seed=seed).to(device), model, {}, schema)
    settings = {"dim": vector_size(vectors)}
    victim = build(model, schema, seed=seed, **settings)
    known = use_vectors(victim, schema, vectors)
    training = {"vectors": vectors.name, "words_with_vectors": known}
    return Checkpoint(victim.to(device), model, settings, schema, training)
