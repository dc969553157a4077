"""Weights that the paper's authors released, written as a checkpoint in place of a training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.errors import InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.job import keep_finished
from hammingbox.victims.released import ips_lstm

RELEASED = "released"


def take_released(
    splits: Splits, folder: Path, *, data: str, data_dir: Path | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Writes the weights that the authors of PCAA released as a checkpoint, and returns facts as a training does.

    Args:
        splits: the data.
        folder: for the checkpoint.
        data: name of the data set.
        data_dir: folder that holds data files.
        overwrite: replace a finished model in the folder.

    Raises:
        InputError: they released none for this data.
        FileError: the file is missing or damaged, or there is a finished model in the folder.
    """
    keep_finished(folder, overwrite)
    if data != "ips":
        raise InputError(f"expected the data set ips for released weights, got {data!r}. Train a model instead.")
    checkpoint = ips_lstm(data_dir=data_dir)
    facts = {
        "data": data,
        "model": RELEASED,
        "epochs": 0,
        "seconds": 0.0,
        "test_accuracy": accuracy(checkpoint.victim, splits.test),
    }
    replace(checkpoint, training=facts).save(folder)
    return facts
