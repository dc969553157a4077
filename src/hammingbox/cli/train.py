"""`hammingbox train`: standard training with early stopping, written as a checkpoint."""

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from hammingbox.cli.console import out, print_json, progress
from hammingbox.cli.options import DataDir, DataName, Json, Label, Opened, SchemaFile
from hammingbox.errors import InputError
from hammingbox.models.checkpoint import Checkpoint
from hammingbox.models.registry import VICTIMS, build
from hammingbox.models.released import ips_lstm
from hammingbox.train import Epoch, TrainConfig, accuracy, fit

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
    seed: Annotated[int, typer.Option(min=0, help="Of the first weights, the order of rows and dropout.")] = 0,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Trains a model and writes model.safetensors and config.json."""
    opened = Opened.of(data, label, schema_file, data_dir)
    if model == RELEASED:
        facts = take_released(opened, out_dir, data_dir)
    else:
        chosen = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience}
        given = {name: value for name, value in chosen.items() if value is not None}
        suits: dict[str, Any] = opened.source.training if model in (None, opened.source.model) else {}
        facts = train_victim(opened, model or opened.source.model, TrainConfig(**(suits | given), seed=seed), out_dir)
    if json:
        print_json(facts)
        return
    out.print(
        f"{facts['model']} on {data}: test accuracy [bold]{100 * facts['test_accuracy']:.2f} %[/] "
        f"({facts['epochs']} epochs, {facts['seconds']:.0f} s), written to {out_dir}"
    )


def train_victim(opened: Opened, model: str, config: TrainConfig, folder: Path) -> dict[str, Any]:
    """Trains, writes the checkpoint, and returns how it went."""
    splits = opened.splits
    victim = build(model, splits.schema, seed=config.seed)
    begin = perf_counter()
    with progress() as bars:
        task = bars.add_task(f"train {model} on {opened.name}", total=config.epochs)

        def show(epoch: Epoch) -> None:
            label = f"train {model}: loss {epoch.loss:.3f}, validation {100 * epoch.validation_accuracy:.1f} %"
            bars.update(task, advance=1, description=label)

        history = fit(victim, splits, config, on_epoch=show)
    facts = {
        "data": opened.name,
        "data_sha256": splits.train.digest,
        "model": model,
        "config": asdict(config),
        "epochs": len(history),
        "seconds": perf_counter() - begin,
        "validation_accuracy": accuracy(victim, splits.validation),
        "test_accuracy": accuracy(victim, splits.test),
    }
    training = facts | {"history": [asdict(epoch) for epoch in history]}
    Checkpoint(victim, model, {}, splits.schema, training).save(folder)
    return facts


def take_released(opened: Opened, folder: Path, data_dir: Path | None) -> dict[str, Any]:
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
