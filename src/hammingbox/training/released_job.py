"""Weights that the paper's authors released, written as a checkpoint in place of a training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.defences import Standard
from hammingbox.evaluation.accuracy import clean_answers
from hammingbox.evaluation.confusion import confusion_of
from hammingbox.training.doubts import training_doubts
from hammingbox.training.job import keep_finished
from hammingbox.victims.released import released_victim

RELEASED = "released"


def take_released(
    splits: Splits, folder: Path, *, data: str, data_dir: Path | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Writes the weights that the authors of PCAA released as a checkpoint, and returns facts as a training does.

    The record has the fields of a training. What is not known of the authors' training is None or empty.

    Args:
        splits: the data.
        folder: for the checkpoint.
        data: name of the data set.
        data_dir: folder that holds data files.
        overwrite: replace a finished model in the folder.

    Raises:
        InputError: they released no weights for this data.
        FileError: the file is missing or damaged, or there is a finished model in the folder.
    """
    keep_finished(folder, overwrite)
    checkpoint = released_victim(data, data_dir=data_dir)
    answers = clean_answers(checkpoint.victim, splits.test)
    tested = confusion_of(answers, splits.test)
    facts: dict[str, Any] = {
        "data": data,
        "data_sha256": None,  # the rows it was trained on are not public
        "test_sha256": splits.test.digest,
        "model": checkpoint.model,
        "defence": repr(Standard()),
        "budget": 0,
        "config": {},
        "epochs": 0,
        "seconds": 0.0,
        "test_accuracy": tested.accuracy,
        **tested.to_json("test_"),
        "given_up": list(tested.given_up),
        "findings": training_doubts(answers, splits),
    }
    replace(checkpoint, training=facts | checkpoint.training).save(folder)
    return facts
