"""Defended models: where they start from, with which settings, and what is refused before anything is trained."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from hammingbox.data.dataset import Splits
from hammingbox.data.registry import DATASETS, Source
from hammingbox.defences import ASCC, HotFlipTraining
from hammingbox.errors import FileError, InputError, VictimError
from hammingbox.threat.goal import Target
from hammingbox.training import defence_job
from hammingbox.training.config import TrainConfig
from hammingbox.training.defence_job import START, train_defended
from hammingbox.training.standard_job import train_standard
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint, weights_digest
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.zoo.registry import build
from toys.training import splice_threat

SOURCE: Source = replace(DATASETS["splice"], model="cnn", training={"epochs": 1, "batch_size": 40})


def defend(splits: Splits, folder: Path, **changes: Any) -> dict[str, Any]:
    options = {"data": "splice", "settings": {"epochs": 1}} | changes
    source, defence = options.pop("source", SOURCE), options.pop("defence", HotFlipTraining())
    return train_defended(splits, source, folder, defence, splice_threat(splits, 1), **options)


@pytest.fixture
def start(small: Splits, tmp_path: Path) -> Path:
    model = build("cnn", small.schema, seed=5).eval()
    Checkpoint(model, "cnn", {}, small.schema).save(tmp_path / "own")
    return tmp_path / "own"


def test_a_defence_starts_from_a_checkpoint(small: Splits, start: Path, tmp_path: Path) -> None:
    before = weights_digest(load_checkpoint(start).victim)
    facts = defend(small, tmp_path / "robust", start=start, rows=64, settings={"epochs": 1, "learning_rate": 1e-9})
    assert facts["train_rows"] == 64
    assert weights_digest(load_checkpoint(start).victim) == before
    pairs = zip(
        load_checkpoint(tmp_path / "robust").victim.parameters(),
        load_checkpoint(start).victim.parameters(),
        strict=True,
    )
    assert all(torch.allclose(after, own, atol=1e-6) for after, own in pairs), "so small a rate stays near the start"


def test_without_a_start_a_standard_model_is_trained_first_on_all_rows(small: Splits, tmp_path: Path) -> None:
    defend(small, tmp_path, rows=64, seed=3)
    standard = load_checkpoint(tmp_path / START).training
    assert (standard["defence"], standard["train_rows"]) == ("Standard()", 160)
    expected = train_standard(small, SOURCE, tmp_path / "same", data="splice", seed=3)
    assert standard["config"] == expected["config"]
    same = load_checkpoint(tmp_path / "same").victim
    assert weights_digest(load_checkpoint(tmp_path / START).victim) == weights_digest(same)


def test_a_start_of_another_training_is_not_used(small: Splits, tmp_path: Path) -> None:
    defend(small, tmp_path, rows=64)
    first = weights_digest(load_checkpoint(tmp_path / START).victim)
    (tmp_path / "config.json").unlink()  # as if it was killed before its first epoch was over
    with pytest.raises(FileError, match=r"start.*another config\. Choose another --out"):
        defend(small, tmp_path, rows=64, seed=1)
    defend(small, tmp_path, rows=64)
    assert weights_digest(load_checkpoint(tmp_path / START).victim) == first
    fewer = replace(small, train=small.train.take(slice(0, 100)))
    (tmp_path / "config.json").unlink()
    with pytest.raises(FileError, match="another data_sha256"):
        defend(fewer, tmp_path, rows=64)
    defend(fewer, tmp_path, rows=64, overwrite=True)
    assert load_checkpoint(tmp_path / START).training["train_rows"] == 100


@pytest.mark.parametrize("place", [".", "config.json"])
def test_a_defence_does_not_overwrite_its_start(place: str, small: Splits, start: Path) -> None:
    with pytest.raises(InputError, match="the start would be overwritten"):
        defend(small, start / "x" / "..", start=start / place, overwrite=True)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"goal": Target("fraud")}, InputError, "got 'fraud'"),
        ({"rows": 161}, InputError, "expected at most 160 training rows, got --rows 161"),
        ({"settings": {"batch_size": 0}}, InputError, "expected batch_size above 0, got 0"),
        ({"model": "magic"}, InputError, "known model"),
    ],
)
def test_mistakes_are_refused_before_a_standard_model_is_trained(
    changes: dict[str, Any], error: type[Exception], message: str, small: Splits, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        defend(small, tmp_path, **changes)
    assert not list(tmp_path.iterdir())


def test_what_a_defence_cannot_train_is_refused_before_a_standard_model_is_trained(
    small: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = OneHot(nn.Sequential(nn.Flatten(), nn.Linear(60 * 5, 3)), categories=5)
    monkeypatch.setattr(defence_job, "untrained", lambda *_, **__: Checkpoint(fixed, "fixed", {}, small.schema))
    with pytest.raises(VictimError, match="learned embedding"):
        defend(small, tmp_path, defence=ASCC())
    assert not list(tmp_path.iterdir())


def test_a_start_of_another_model_is_refused(small: Splits, start: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a checkpoint of the model 'lstm' to start from, got one of 'cnn'"):
        defend(small, tmp_path / "robust", start=start, model="lstm")


@pytest.mark.parametrize(
    ("model", "given", "size"),
    [("cnn", {}, 40), ("lstm", {}, TrainConfig.batch_size), ("cnn", {"batch_size": 50}, 50)],
)
def test_the_batch_size_is_the_given_one_or_the_one_that_suits_the_model(
    model: str, given: dict[str, int], size: int, small: Splits, start: Path, tmp_path: Path
) -> None:
    facts = defend(
        small, tmp_path / "robust", start=start, source=replace(SOURCE, model=model), settings={"epochs": 1} | given
    )
    assert facts["config"]["batch_size"] == size
    assert facts["config"]["learning_rate"] == TrainConfig.learning_rate, "only the batch size follows the data set"
