"""Whether a folder holds the finished model that a defence was asked for, so that nothing is trained twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.data.registry import Source
from hammingbox.defences import Defence
from hammingbox.errors import HammingboxError
from hammingbox.evaluation.accuracy import clean_answers
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.defence_job import START
from hammingbox.training.doubts import training_doubts
from hammingbox.training.job import space_sha256
from hammingbox.training.standard_job import suitable_settings
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import CONFIG, load_checkpoint, weights_digest


def finished_defence(
    splits: Splits,
    source: Source,
    folder: Path,
    defence: Defence,
    threat: ThreatModel,
    *,
    goal: Goal | None = None,
    model: str | None = None,
    start: Path | None = None,
    rows: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, Any] | None:
    """The facts of the finished training in a folder, if it is the one that these arguments of `train_defended` mean.

    Returns:
        The facts; None if there is no finished model, a damaged one, or one of another training.
    """
    if not (folder / CONFIG).exists() or (folder / STATE).exists():
        return None
    try:
        found = load_checkpoint(folder, schema=splits.schema)
        begin = load_checkpoint(start or folder / START, schema=splits.schema)
    except HammingboxError:
        return None
    if model not in (None, found.model):
        return None
    suits = suitable_settings(source, found.model)
    own_size = {"batch_size": suits["batch_size"]} if "batch_size" in suits else {}
    train = splits.train if rows is None else splits.train.take(slice(0, rows))
    expected = {
        "data_sha256": train.digest,
        "defence": repr(defence),
        "budget": threat.budget,
        "config": TrainConfig(**(own_size | dict(settings or {})), seed=seed).record(),
        "train_rows": len(train),
        "goal": (goal or AnyOther()).to_json(),
        "space_sha256": space_sha256(threat),
        "start_sha256": weights_digest(begin.victim),
    }
    if any(found.training.get(name) != value for name, value in expected.items()):
        return None
    facts = {name: value for name, value in found.training.items() if name != "history"}
    return facts | {"findings": training_doubts(clean_answers(found.victim, splits.test), splits)}
