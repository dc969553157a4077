"""`hammingbox train`: standard training with early stopping, written as a checkpoint."""

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from hammingbox.cli.console import out, print_json, progress
from hammingbox.cli.options import DataName, Json, Seed
from hammingbox.data.registry import source_named
from hammingbox.models.checkpoint import Checkpoint
from hammingbox.models.registry import VICTIMS, build
from hammingbox.train import Epoch, TrainConfig, accuracy, fit


def train(
    data: DataName,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the checkpoint.")],
    model: Annotated[str, typer.Option(help=f"Model: {', '.join(VICTIMS)}.")] = "lstm",
    epochs: Annotated[int, typer.Option(help="At most this many epochs.")] = TrainConfig.epochs,
    batch_size: Annotated[int, typer.Option(help="Rows a step.")] = TrainConfig.batch_size,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = TrainConfig.learning_rate,
    patience: Annotated[int, typer.Option(help="Epochs without a better validation accuracy.")] = TrainConfig.patience,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Trains a model and writes model.safetensors and config.json."""
    config = TrainConfig(
        epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, patience=patience, seed=seed
    )
    facts = train_victim(data, model, config, out_dir)
    if json:
        print_json(facts)
        return
    out.print(
        f"{model} on {data}: test accuracy [bold]{100 * facts['test_accuracy']:.2f} %[/] "
        f"({facts['epochs']} epochs, {facts['seconds']:.0f} s), written to {out_dir}"
    )


def train_victim(data: str, model: str, config: TrainConfig, folder: Path) -> dict[str, Any]:
    """Trains, writes the checkpoint, and returns how it went."""
    splits = source_named(data).load()
    victim = build(model, splits.schema, seed=config.seed)
    begin = perf_counter()
    with progress() as bars:
        task = bars.add_task(f"train {model} on {data}", total=config.epochs)

        def show(epoch: Epoch) -> None:
            label = f"train {model}: loss {epoch.loss:.3f}, validation {100 * epoch.validation_accuracy:.1f} %"
            bars.update(task, advance=1, description=label)

        history = fit(victim, splits, config, on_epoch=show)
    facts = {
        "data": data,
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
