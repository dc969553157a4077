"""Small trainings that tests share: few rows of Splice, and a run that is killed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hammingbox.data.dataset import Splits
from hammingbox.defences import Defence
from hammingbox.threat.goal import Goal
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch, Progress
from hammingbox.training.loop import fit
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.zoo.registry import build


class KilledError(Exception):
    """Stands for the end of the process."""


def few_rows(splits: Splits) -> Splits:
    """160 training rows and 60 validation rows."""
    return replace(
        splits, train=splits.train.take(slice(0, 160)), validation=splits.validation.take(slice(0, 60))
    )  # fmt: skip


def splice_threat(splits: Splits, budget: int = 2) -> ThreatModel:
    """Splice's own threat model."""
    return ThreatModel(MaskedSpace(splits.schema, forbidden={"*": ["N"]}), budget)


def train_cnn(
    splits: Splits,
    defence: Defence,
    config: TrainConfig,
    folder: Path | None = None,
    *,
    goal: Goal | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
) -> tuple[str, list[Epoch]]:
    """Trains a new CNN; the hash of its weights, and its history."""
    victim = build("cnn", splits.schema, seed=0)
    history = fit(
        victim, splits, config,
        defence=defence, threat=splice_threat(splits), goal=goal, folder=folder, on_epoch=on_epoch,
    )  # fmt: skip
    return weights_digest(victim), history


def kill_after(
    epochs: int, splits: Splits, defence: Defence, config: TrainConfig, folder: Path, *, goal: Goal | None = None
) -> None:
    """Trains a new CNN and kills the run at the first step after some epochs."""

    def kill(current: Progress) -> None:
        if current.epoch > epochs:
            raise KilledError

    victim = build("cnn", splits.schema, seed=0)
    with pytest.raises(KilledError):
        fit(
            victim, splits, config,
            defence=defence, threat=splice_threat(splits), goal=goal, folder=folder, on_step=kill,
        )  # fmt: skip
    assert (folder / STATE).exists()


def without_times(history: list[Epoch]) -> list[Epoch]:
    """A history with its seconds set to zero."""
    return [replace(epoch, seconds=0.0, elapsed=0.0) for epoch in history]
