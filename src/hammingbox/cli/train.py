"""`hammingbox train`: standard training with early stopping, written as a checkpoint."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.options import DataDir, DataName, Json, Label, Overwrite, SchemaFile, Task
from hammingbox.cli.training_progress import training_progress
from hammingbox.errors import InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.config import TrainConfig
from hammingbox.training.job import keep_finished, train_victim
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.released import ips_lstm
from hammingbox.victims.zoo.registry import VICTIMS, build

RELEASED = "released"


def train(
    data: DataName,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the checkpoint.")],
    model: Annotated[
        str | None,
        typer.Option(help=f"Model: {', '.join(VICTIMS)}; '{RELEASED}' takes the authors' weights for ips."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="At most this many epochs.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of Adam.")] = None,
    patience: Annotated[int | None, typer.Option(help="Epochs without a better validation accuracy.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Of the first weights, the order of rows and dropout.")
    ] = 0,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Trains a model and writes model.safetensors and config.json."""
    keep_finished(out_dir, overwrite)
    opened = Task.of(data, label, schema_file, data_dir)
    if model == RELEASED:
        facts = take_released(opened, out_dir, data_dir)
    else:
        chosen = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience}
        given = {name: value for name, value in chosen.items() if value is not None}
        suits: dict[str, Any] = opened.source.training if model in (None, opened.source.model) else {}
        name = model or opened.source.model
        untrained = Checkpoint(build(name, opened.splits.schema, seed=seed), name, {}, opened.splits.schema)
        config = TrainConfig(**(suits | given), seed=seed)
        with training_progress(name, opened.name, config) as callbacks:
            facts = train_victim(opened.splits, untrained, config, out_dir, data=opened.name, **callbacks)
    if json:
        print_json(facts)
        return
    say(
        f"{facts['model']} on {plain(data)}: test accuracy [bold]{100 * facts['test_accuracy']:.2f} %[/] "
        f"({facts['epochs']} epochs, {facts['seconds']:.0f} s), written to {plain(out_dir)}"
    )


def take_released(opened: Task, folder: Path, data_dir: Path | None) -> dict[str, Any]:
    """Writes the weights that the authors of PCAA released as a checkpoint.

    Raises:
        InputError: they released none for this data.
    """
    if opened.name != "ips":
        raise InputError(f"expected the data set ips for released weights, got {opened.name!r}. Train a model instead.")
    checkpoint = ips_lstm(data_dir=data_dir)
    facts = {
        "data": opened.name,
        "model": RELEASED,
        "epochs": 0,
        "seconds": 0.0,
        "test_accuracy": accuracy(checkpoint.victim, opened.splits.test),
    }
    Checkpoint(checkpoint.victim, checkpoint.model, checkpoint.settings, checkpoint.schema, facts).save(folder)
    return facts
