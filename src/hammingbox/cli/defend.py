"""`hammingbox defend`: trains a model that resists, written as a checkpoint like any other."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.options import (
    DataDir,
    DataName,
    Forbid,
    FullSpaceFlag,
    Immutable,
    Json,
    Label,
    Neighbours,
    Overwrite,
    Protect,
    SchemaFile,
    Task,
    changes_from,
    made_from,
)
from hammingbox.cli.training_progress import training_progress
from hammingbox.defences import DEFENCES
from hammingbox.errors import FileError, InputError
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.job import keep_finished, train_victim
from hammingbox.victims.checkpoint import CONFIG, Checkpoint, load_checkpoint
from hammingbox.victims.zoo.registry import VICTIMS, build

START = "start"
"""Folder, inside the defended model's, of the standard model that the defence began with."""


def defend(
    data: DataName,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the checkpoint; a killed run goes on from it.")],
    defence: Annotated[str, typer.Option(help=f"Defence: {', '.join(DEFENCES)}.")] = "padvt",
    budget: Annotated[int, typer.Option(min=0, help="Changes the model shall resist.")] = 2,
    model: Annotated[str | None, typer.Option(help=f"Model: {', '.join(VICTIMS)}.")] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Checkpoint to start from; without it a standard model is trained first, in OUT/start."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a setting of the defence (repeatable).")
    ] = None,
    epochs: Annotated[int, typer.Option(help="At most this many epochs.")] = 10,
    batch_size: Annotated[int | None, typer.Option(help="Rows a step.")] = None,
    learning_rate: Annotated[float, typer.Option(help="Of Adam; the start is trained already.")] = 1e-3,
    schedule: Annotated[str, typer.Option(help="Learning rate: cosine (falls to zero) or constant.")] = "cosine",
    patience: Annotated[int, typer.Option(help="Epochs without a better validation score.")] = 8,
    criterion: Annotated[
        str, typer.Option(help="Which epoch is kept: best validation accuracy clean, robust, or their mean.")
    ] = "mean",
    robust_rows: Annotated[int, typer.Option(min=0, help="Validation rows attacked after each epoch.")] = 200,
    ramp: Annotated[int, typer.Option(min=1, help="Epochs over which the budget rises from 1.")] = 1,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Defend on the first rows of the training part only; a start takes all.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Of the order of rows, dropout and inner attacks.")
    ] = 0,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    full_space: FullSpaceFlag = False,
    protect: Protect = None,
    neighbours: Neighbours = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Trains a model that resists changes within a budget."""
    chosen = made_from("defence", DEFENCES, defence, set_ or ())
    if start is not None and out_dir.resolve() == (start.parent if start.is_file() else start).resolve():
        raise InputError(
            f"expected another folder for --out than for --start, got {out_dir} for both: the start would be "
            "overwritten. Choose another --out."
        )
    keep_finished(out_dir, overwrite)
    opened = Task.of(data, label, schema_file, data_dir)
    schema = opened.splits.schema
    space = opened.space(changes_from(immutable, forbid, full_space, protect, neighbours))
    threat = ThreatModel(space, budget)
    train_rows = opened.splits.train if rows is None else opened.part("train", rows)
    began = load_checkpoint(start, schema=schema) if start else None
    name = began.model if began else model or opened.source.model
    suits: dict[str, Any] = opened.source.training if name == opened.source.model else {}
    size = batch_size if batch_size is not None else int(suits.get("batch_size", TrainConfig.batch_size))
    config = TrainConfig(
        epochs=epochs, batch_size=size, learning_rate=learning_rate, schedule=schedule,  # type: ignore[arg-type]
        patience=patience, criterion=criterion, robust_rows=robust_rows, ramp=ramp, seed=seed,  # type: ignore[arg-type]
    )  # fmt: skip
    if began is None:
        # A model that the defence cannot train is refused before its start is trained.
        chosen.begin(build(name, schema, seed=seed), len(train_rows), threat)
        began = _start(opened, name, TrainConfig(**suits, seed=seed), out_dir / START, overwrite)
    if model is not None and began.model != model:
        raise InputError(f"expected a checkpoint of the model {model!r} to start from, got one of {began.model!r}.")
    opened = replace(opened, splits=replace(opened.splits, train=train_rows))
    with training_progress(began.model, opened.name, config) as callbacks:
        facts = train_victim(
            opened.splits, began, config, out_dir, data=opened.name, defence=chosen, threat=threat, **callbacks
        )
    if json:
        print_json(facts)
        return
    robust = facts["robust_validation_accuracy"]
    attacked = "" if robust is None else f", [bold]{100 * robust:.1f} %[/] of attacked validation rows"
    say(
        f"{facts['model']} on {plain(data)}, defended by {defence} at budget {budget}: test accuracy "
        f"[bold]{100 * facts['test_accuracy']:.2f} %[/]{attacked} "
        f"({facts['epochs']} epochs, {facts['seconds']:.0f} s, {facts['cost_of_an_epoch']:.1f} x a standard epoch), "
        f"written to {plain(out_dir)}"
    )


def _start(opened: Task, model: str, config: TrainConfig, place: Path, overwrite: bool) -> Checkpoint:
    """The standard model a defence begins with: found in its folder, or trained.

    Raises:
        FileError: the one there was trained in another way, or on other rows.
    """
    schema = opened.splits.schema
    if (place / CONFIG).exists():
        found = load_checkpoint(place)
        expected = {"model": model, "data_sha256": opened.splits.train.digest, "config": asdict(config)}
        other = ", ".join(name for name, value in expected.items() if found.training.get(name) != value)
        if not other:
            return load_checkpoint(place, schema=schema)
        if not overwrite:
            raise FileError(
                f"expected the start of this training in {place}, got one with another {other}. "
                "Choose another --out, give a --start, or train both anew with --overwrite."
            )
    untrained = Checkpoint(build(model, schema, seed=config.seed), model, {}, schema)
    with training_progress(model, opened.name, config) as callbacks:
        train_victim(opened.splits, untrained, config, place, data=opened.name, **callbacks)
    return load_checkpoint(place, schema=schema)
