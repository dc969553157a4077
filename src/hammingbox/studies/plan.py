"""What a study would cost: rows, victim passes and seconds, estimated before anything runs."""

from dataclasses import dataclass
from math import inf
from time import perf_counter

import torch

from hammingbox.attacks import Attack
from hammingbox.attacks.swap import Swap
from hammingbox.data.dataset import Dataset
from hammingbox.problem import Problem
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.workspace import Workspace, defence_of
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.cost import relative_cost
from hammingbox.types import Ids
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim

_SAMPLE_ROWS = 4
"""Rows whose bounds are averaged: S(x) has about the same size for all rows of a data set."""
_TYPICAL_FORWARD, _TYPICAL_BACKWARD = 400.0, 100.0
"""Passes per row of a search that stops at its first success, as measured on Splice and IPS (docs/attacks.md)."""
_SPENT_SHARE = 0.25
"""Share of its bound that such a search spends at least, where the bound is far above the typical cost.

In the attack table, enumeration of single changes spends 0.35 to 0.77 of its bound and PCAA 0.33 to 0.85, averaged over
broken and unbroken rows; auto spends less. A quarter is within a factor of about three of all but the cheapest runs. It
also covers the paper's setting of PCAA, which spends at least the first round of its sweep.
"""


@dataclass(frozen=True)
class Work:
    """One line of a plan.

    Attributes:
        what: a training, or an attack on a victim.
        rows: rows to attack, or to train on.
        passes: victim passes, forward and backward.
        seconds: estimated on this machine.
        note: anything else to know, such as missing data.
    """

    what: str
    rows: int = 0
    passes: float = 0.0
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class RowPasses:
    """Expected forward and backward passes per row."""

    forward: float
    backward: float


def expected_passes(attack: Attack, victim: Victim, data: Dataset, threat: ThreatModel) -> RowPasses:
    """What an attack will probably cost per row: its formula if that is exact, otherwise an estimate below its bound.

    Args:
        attack: with its settings.
        victim: of the right shape; its weights do not matter.
        data: the rows to attack; the first few are looked at.
        threat: what the attacker may do.

    Raises:
        TooExpensiveError: the attack would refuse.
    """
    x, y = data.batch(slice(0, _SAMPLE_ROWS))
    problem = Problem.of(
        victim,
        threat.space.candidates(x),
        AnyOther().of(y, data.schema),
        threat.budget,
        objective=attack.objective,
        queries=attack.queries,
    )
    passes = attack.passes(problem)
    forward, backward = (part.double().mean().item() for part in (passes.forward, passes.backward))
    if passes.is_exact:
        return RowPasses(forward, backward)
    return RowPasses(_below(forward, _TYPICAL_FORWARD), _below(backward, _TYPICAL_BACKWARD * attack.uses_gradient))


def _below(bound: float, typical: float) -> float:
    """An estimate below a bound, which may be infinite."""
    return typical if bound == inf else min(bound, max(typical, _SPENT_SHARE * bound))


def seconds_per_pass(victim: Victim, x: Ids) -> float:
    """Seconds per row of one forward pass of a batch, the best of three."""
    with frozen_eval(victim), torch.no_grad():
        victim(x)
        times = []
        for _ in range(3):
            begin = perf_counter()
            victim(x)
            times.append(perf_counter() - begin)
    return min(times) / len(x)


def plan_training(workspace: Workspace, recipe: Recipe) -> list[Work]:
    """The trainings of a victim and of its starts that are neither done nor planned yet."""
    if recipe.folder in workspace.planned:
        return []
    workspace.planned.add(recipe.folder)
    before = plan_training(workspace, recipe.start) if recipe.start is not None else []
    return before if workspace.is_ready(recipe) else [*before, _training(workspace, recipe)]


def _training(workspace: Workspace, recipe: Recipe) -> Work:
    splits, config = workspace.task(recipe).splits, workspace.config(recipe)
    rows = min(recipe.train_rows or len(splits.train), len(splits.train))
    victim = workspace.untrained(recipe).victim
    seconds = seconds_per_pass(victim, splits.train.batch(slice(0, 64))[0])
    factor = 1.0
    if recipe.start is not None:
        threat = workspace.threat(recipe, recipe.budget)
        factor = relative_cost(victim, splits, defence_of(recipe), threat, batch_size=config.batch_size, steps=1)
    steps = 2.0 * rows * config.epochs * factor
    attacked = config.epochs * _validation_passes(
        victim, splits.validation, workspace.threat(recipe, recipe.budget), config
    )
    what = f"train {recipe.one_training} (at most {config.epochs} epochs)"
    # Half of the passes of a step are backward passes, which take about as long as two forward passes.
    return Work(what, rows, steps + attacked, (1.5 * steps + attacked) * seconds)


def _validation_passes(victim: Victim, validation: Dataset, threat: ThreatModel, config: TrainConfig) -> float:
    """What the attack on validation rows costs after each epoch; for short trainings it is most of the work."""
    rows = min(config.robust_rows, len(validation))
    if not rows or threat.forbids_all:
        return 0.0
    each = expected_passes(Swap(), victim, validation, threat)
    return rows * (each.forward + each.backward)
