"""What an experiment would cost: rows, victim passes and seconds, estimated before anything is run."""

from dataclasses import dataclass
from math import prod
from time import perf_counter

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks import PCAA, Attack, Auto, Exhaustive, HotFlip, Swap, TwoStage
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.workspace import Workspace, defence_of
from hammingbox.training.cost import relative_cost
from hammingbox.types import Ids
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim

_TYPICAL_SEARCH = 400.0
"""Passes a row of attacks that stop early and so have no formula; measured on Splice and IPS, see docs/attacks.md."""


@dataclass(frozen=True)
class Work:
    """A piece of work.

    Attributes:
        what: in words.
        rows: to attack, or to train on.
        passes: victim passes, forward and backward.
        seconds: estimated on this machine.
        note: what else is to be known, such as missing data.
    """

    what: str
    rows: int = 0
    passes: float = 0.0
    seconds: float = 0.0
    note: str = ""


def passes_a_row(attack: Attack, counts: Float[Tensor, "features"], budget: int) -> tuple[float, float]:
    """Forward and backward passes an attack needs for a row, about; (0, 0) when it would refuse.

    Args:
        attack: with its settings.
        counts: valid categories of each feature, averaged over some rows.
        budget: changes allowed.
    """
    moves, largest = (counts - 1).sum().item(), counts.topk(min(budget, len(counts))).values
    if isinstance(attack, TwoStage):
        brute = prod(largest.tolist())
        if attack.search == "brute" and brute > attack.max_passes:
            return 0.0, 0.0
        second = brute if attack.search == "brute" else (largest - 1).sum().item()
        return (1 + moves + second, 0.0) if attack.guide == "loss" else (2 + second, 1.0)
    if isinstance(attack, PCAA):
        gradient = len(attack.zetas) * attack.steps * attack.samples
        return 1.0 + gradient + len(attack.zetas) * attack.draws, float(gradient)
    if isinstance(attack, Exhaustive):
        needed = [1.0] + [0.0] * budget  # elementary symmetric polynomials of the numbers of choices
        for choices in (counts - 1).tolist():
            needed = [1.0, *(needed[k] + choices * needed[k - 1] for k in range(1, budget + 1))]
        return (0.0, 0.0) if sum(needed) > attack.max_passes else (sum(needed), 0.0)
    if isinstance(attack, Auto):
        return (moves, 1.0) if budget == 1 else (_TYPICAL_SEARCH, _TYPICAL_SEARCH / 4)
    if isinstance(attack, HotFlip):
        return attack.beam * 2.0 * budget, float(attack.beam * budget)
    return _TYPICAL_SEARCH, 12.0 if isinstance(attack, Swap) else 0.0


def seconds_a_pass(victim: Victim, x: Ids) -> float:
    """Seconds of one row's forward pass in a batch, the best of three."""
    with frozen_eval(victim), torch.no_grad():
        victim(x)
        times = []
        for _ in range(3):
            begin = perf_counter()
            victim(x)
            times.append(perf_counter() - begin)
    return min(times) / len(x)


def plan_training(workspace: Workspace, recipe: Recipe) -> list[Work]:
    """The trainings of a victim and those it begins with that are neither done nor planned yet."""
    if (recipe.folder,) in workspace.planned:
        return []
    workspace.planned.add((recipe.folder,))
    before = plan_training(workspace, recipe.start) if recipe.start is not None else []
    return before if workspace.is_ready(recipe) else [*before, _training(workspace, recipe)]


def _training(workspace: Workspace, recipe: Recipe) -> Work:
    opened, config = workspace.opened(recipe), workspace.config(recipe)
    rows = min(recipe.train_rows or len(opened.splits.train), len(opened.splits.train))
    victim = workspace.untrained(recipe).victim
    once = seconds_a_pass(victim, opened.splits.train.batch(slice(0, 64))[0])
    times = 1.0
    if recipe.start is not None:
        threat = workspace.threat(recipe, recipe.budget)
        times = relative_cost(
            victim, opened.splits, defence_of(recipe), threat, batch_size=config.batch_size, steps=1
        )  # fmt: skip
    passes = 2.0 * rows * config.epochs * times
    # A backward pass takes about two forward ones.
    return Work(
        f"train {recipe.data}, {recipe.label} (at most {config.epochs} epochs)", rows, passes, 1.5 * passes * once
    )
