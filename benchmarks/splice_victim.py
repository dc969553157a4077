"""The victim and rows that all benchmarks share: the Splice LSTM and test rows it classifies correctly."""

from pathlib import Path

from hammingbox import Checkpoint, Dataset, FileError, MaskedSpace, TrainConfig, accuracy, build, fit, load_checkpoint
from hammingbox.data.dataset import Splits
from hammingbox.data.registry import source_named
from hammingbox.evaluation.accuracy import correctly_classified

FOLDER = Path("runs/bench/splice-lstm")
SOURCE = source_named("splice")


def splits() -> Splits:
    return SOURCE.load()


def space() -> MaskedSpace:
    """The data set's own threat model: all letters but N."""
    return MaskedSpace(splits().schema, forbidden=SOURCE.forbidden)


def victim() -> Checkpoint:
    """The trained LSTM, from an earlier run if there is one."""
    data = splits()
    try:
        return load_checkpoint(FOLDER, schema=data.schema)
    except FileError:
        model = build("lstm", data.schema)
        history = fit(model, data, TrainConfig())
        facts = {
            "test_accuracy": accuracy(model, data.test),
            "epochs": len(history),
            "seconds": sum(epoch.seconds for epoch in history),
        }
        Checkpoint(model, "lstm", {}, data.schema, facts).save(FOLDER)
        return load_checkpoint(FOLDER, schema=data.schema)


def right_rows(count: int = 100) -> Dataset:
    """The first test rows that the victim classifies correctly."""
    return correctly_classified(victim().victim, splits().test, count)
