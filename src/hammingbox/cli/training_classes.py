"""How `train` and `defend` speak of classes: weights, recall, given-up classes, and whether a defence helped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from hammingbox.cli.console import plain, say
from hammingbox.evaluation.confusion import LEAST_RECALL
from hammingbox.running.tasks import Task
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.class_weights import AUTO, class_weights_from
from hammingbox.training.defence_verdict import Verdict, defence_verdict
from hammingbox.victims.checkpoint import load_checkpoint

ClassWeights = Annotated[
    list[str] | None,
    typer.Option(
        help="Weights of classes in the loss: balanced, none, or CLASS=WEIGHT (repeatable). By default balanced for "
        "your own imbalanced tables, otherwise none.",
        metavar="WEIGHTS",
    ),
]

_SHOWN = 8
"""Classes whose recall is printed; all of them are in the JSON."""


def weights_from(task: Task, words: Sequence[str] | None) -> tuple[tuple[float, ...] | None, str]:
    """The class weights of a training, and a sentence where the user did not ask for them."""
    weights = class_weights_from(words or (AUTO,), task.splits.train, own=task.is_own)
    if weights is None or words:
        return weights, ""
    shown = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(task.splits.schema.classes, weights, strict=True))
    return weights, f"the classes are imbalanced, so their rows are weighted ({shown}); --class-weights none does not"


def classes_in_words(facts: dict[str, Any]) -> str:
    """Balanced accuracy, the recall of each class, and what always answering one class would reach."""
    if "test_recall" not in facts:  # trained by an earlier version
        return "recall unknown"
    recall = [
        f"{plain(name)} {'none' if value is None else f'{100 * value:.1f} %'}"
        for name, value in list(facts["test_recall"].items())[:_SHOWN]
    ]
    more = ", ..." if len(facts["test_recall"]) > _SHOWN else ""
    return (
        f"balanced [bold]{100 * facts['test_balanced_accuracy']:.2f} %[/], recall {', '.join(recall)}{more}; "
        f"always answering one class is right on {100 * facts['test_majority_baseline']:.2f} %"
    )


def show_training_notes(facts: dict[str, Any], said: str) -> None:
    """Says which weights were used unasked, and, loudly, which classes the model has given up."""
    if said:
        say(f"note: {plain(said)}")
    if facts.get("given_up"):
        names = plain(", ".join(facts["given_up"]))
        recall = min((facts["test_recall"].get(name) or 0.0 for name in facts["given_up"]), default=0.0)
        what = (
            f"hardly ever gets {names} right" if recall < LEAST_RECALL else f"is hardly better than guessing ({names})"
        )
        predicted = ", ".join(f"{name} {count}" for name, count in facts["test_predicted"].items())
        say(
            f"[bold red]collapsed:[/] the model {what} (its answers on the test rows: "
            f"{plain(predicted)}). Its accuracy and robustness say nothing: try --class-weights balanced, another "
            "--learning-rate or more --epochs."
        )


def verdict_on(
    task: Task, start: Path, folder: Path, threat: ThreatModel, goal: Goal, rows: int, device: torch.device
) -> Verdict | None:
    """The defended model beside its start; None where there is no attack to resist or no row to attack."""
    if threat.forbids_all or rows == 0 or not len(task.splits.test):
        return None
    before, after = (load_checkpoint(place, schema=task.splits.schema).victim.to(device) for place in (start, folder))
    return defence_verdict(before, after, task.splits.test, threat, rows=rows, goal=goal)


def show_verdict(verdict: Verdict | None) -> None:
    """Says whether the defence helped, by classes."""
    if verdict is None:
        return
    (old, before), (new, after) = verdict.start.worst, verdict.defended.worst
    numbers = (
        f"balanced accuracy {100 * verdict.start.balanced_accuracy:.1f} % -> "
        f"{100 * verdict.defended.balanced_accuracy:.1f} %, worst class's error under attack {100 * before:.1f} % "
        f"({plain(old)}) -> {100 * after:.1f} % ({plain(new)}), by {verdict.attack} at budget {verdict.budget} on "
        f"{verdict.rows} test rows drawn by class"
    )
    if verdict.helped:
        say(f"[green]the defence helped:[/] {numbers}")
    else:
        say(f"[bold red]the defence could not help:[/] {plain('; '.join(verdict.reasons))} ({numbers})")
