"""`hammingbox defend`: trains a robust model, written as a checkpoint like any other."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.cli.completion import a_shipped_victim, one_of
from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.findings import show_doubts
from hammingbox.cli.options import (
    DataDir,
    DataName,
    Device,
    Forbid,
    From,
    FullSpaceFlag,
    Functions,
    Immutable,
    Json,
    Label,
    Neighbours,
    Overwrite,
    Plausible,
    Protect,
    SchemaFile,
    Task,
    ThreatFile,
    To,
    budget_from,
    budget_text,
    changes_from,
    goal_from,
    made_from,
)
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.training_classes import (
    ClassWeights,
    classes_in_words,
    show_training_notes,
    show_verdict,
    verdict_on,
    weights_from,
)
from hammingbox.cli.training_progress import training_progress
from hammingbox.cli.training_workers import TrainingWorkers, team_from
from hammingbox.data.reading import Reading
from hammingbox.defences import DEFENCES
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.class_weights import is_imbalanced
from hammingbox.training.defence_job import START, train_defended
from hammingbox.training.finished_defence import finished_defence
from hammingbox.victims.zoo.registry import VICTIMS


@reads_own_file
def defend(
    data: DataName,
    *,
    reading: Reading,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the checkpoint; a killed run continues from it.")],
    defence: Annotated[
        str, typer.Option(help=f"Defence: {', '.join(DEFENCES)}.", autocompletion=one_of(DEFENCES))
    ] = "padvt",
    budget: Annotated[
        str | None,
        typer.Option(
            help="Number of changed features that the model shall resist (2); with --threat, an amount of money."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"Model: {', '.join(VICTIMS)}.", autocompletion=one_of(VICTIMS))
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            help="Checkpoint or shipped victim to start from; without it a standard model is trained in OUT/start.",
            autocompletion=a_shipped_victim,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a setting of the defence (repeatable).")
    ] = None,
    sources: From = None,
    targets: To = None,
    epochs: Annotated[int, typer.Option(help="Maximum number of epochs.")] = 10,
    batch_size: Annotated[int | None, typer.Option(help="Rows per step.")] = None,
    learning_rate: Annotated[float, typer.Option(help="Learning rate of AdamW; the start is trained already.")] = 1e-3,
    schedule: Annotated[str, typer.Option(help="Learning rate: cosine (falls to zero) or constant.")] = "cosine",
    patience: Annotated[int, typer.Option(help="Stop after this many epochs without a better validation score.")] = 8,
    criterion: Annotated[
        str | None,
        typer.Option(
            help="Which epoch is kept: best validation accuracy clean, robust, or their mean; or balanced, "
            "balanced-robust, balanced-mean, by the mean recall of the classes; or worst-class, balanced accuracy "
            "and the worst class's attacked recall; or last, the last epoch. By default mean; worst-class for your own "
            "imbalanced tables."
        ),
    ] = None,
    class_weights: ClassWeights = None,
    robust_rows: Annotated[
        int, typer.Option(min=0, help="Validation rows attacked after each epoch, and test rows at the end.")
    ] = 200,
    ramp: Annotated[int, typer.Option(min=1, help="Epochs over which the budget rises from 1.")] = 1,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Defend on the first rows of the training part only; OUT/start is trained on all."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of the order of rows, dropout and inner attacks.")
    ] = 0,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    full_space: FullSpaceFlag = False,
    protect: Protect = None,
    neighbours: Neighbours = None,
    threat_file: ThreatFile = None,
    function: Functions = None,
    plausible: Plausible = False,
    device: Device = "cpu",
    workers: TrainingWorkers = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Trains a model that resists changes within a budget."""
    chosen = made_from("defence", DEFENCES, defence, set_ or ())
    goal = goal_from(sources, targets)
    team, place = team_from(workers, device)
    task = Task.of(data, label, schema_file, data_dir, reading=reading)
    space = task.space(
        changes_from(immutable, forbid, full_space, protect, neighbours, threat_file, function, plausible)
    )
    weights, said = weights_from(task, class_weights)
    uneven = task.is_own and is_imbalanced(task.splits.train)
    kept = criterion or ("worst_class" if uneven else "mean")
    settings: dict[str, Any] = {
        "epochs": epochs, "learning_rate": learning_rate, "schedule": schedule, "patience": patience,
        "criterion": kept.replace("-", "_"), "robust_rows": robust_rows, "ramp": ramp,
    }  # fmt: skip
    start_settings: dict[str, Any] = {"criterion": "balanced"} if uneven else {}
    if weights is not None:
        settings["class_weights"] = start_settings["class_weights"] = weights
    if batch_size is not None:
        settings["batch_size"] = batch_size
    threat = ThreatModel(space, budget_from(budget, space, 2))
    done = None if overwrite else finished_defence(
        task.splits, task.source, out_dir, chosen, threat,
        goal=goal, model=model, start=start, rows=rows, settings=settings, seed=seed,
    )  # fmt: skip
    with team:
        facts = done or train_defended(
            task.splits, task.source, out_dir, chosen, threat,
            data=task.name, goal=goal, model=model, start=start, rows=rows, settings=settings,
            start_settings=start_settings, seed=seed, device=place, overwrite=overwrite, team=team,
            watch=training_progress,
        )  # fmt: skip
    verdict = verdict_on(task, start or out_dir / START, out_dir, threat, goal, robust_rows, place)
    if json:
        print_json(facts | {"verdict": None if verdict is None else verdict.to_json()})
        return
    show_doubts(facts["findings"])
    robust = facts["robust_validation_accuracy"]
    attacked = "" if robust is None else f", [bold]{100 * robust:.1f} %[/] of attacked validation rows"
    say(
        f"{facts['model']} on {plain(data)}, defended by {defence} at {budget_text(threat.budget, space)}: "
        f"test accuracy [bold]{100 * facts['test_accuracy']:.2f} %[/]{attacked}, {classes_in_words(facts)} "
        f"({facts['epochs']} epochs, {facts['seconds']:.0f} s, {facts['cost_of_an_epoch']:.1f} x a standard epoch), "
        f"{'already in' if done else 'written to'} {plain(out_dir)}"
    )
    show_training_notes(facts, said)
    show_verdict(verdict)
    if done:
        say("It was trained before with these settings: nothing was trained now. --overwrite trains it anew.")
