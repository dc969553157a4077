"""Studies that are grids of victims, attacks, budgets and seeds. Planning and running walk the same cells."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.data.dataset import Dataset
from hammingbox.errors import TooExpensiveError
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.studies.plan import Work, expected_passes, plan_training, seconds_per_pass
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from hammingbox.victims.victim import Victim


@dataclass(frozen=True)
class GridCell:
    """One attack on one victim at one budget.

    Attributes:
        recipe: the victim.
        attack: the attack's name.
        settings: settings of the attack that differ from its defaults.
        budget: number of changes allowed.
        seeds: the seeds to run; one where the attack is deterministic.
        evaluations: one per seed once the cell has run; empty before that, and where the attack refused.
        refused: why the attack refused to run, if it did.
    """

    recipe: Recipe
    attack: str
    settings: Mapping[str, Any]
    budget: int
    seeds: range
    evaluations: tuple[Evaluation, ...] = ()
    refused: str = ""

    def method(self) -> Attack:
        """The attack with its settings."""
        return ATTACKS[self.attack](**self.settings)


@dataclass
class Grid:
    """All cells that ran, and the victims that were skipped, each with the reason."""

    cells: list[GridCell] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def of(self, recipe: Recipe) -> list[GridCell]:
        """The cells of one victim, attack by attack; empty when it was skipped."""
        return [cell for cell in self.cells if cell.recipe is recipe]


def grid_cells(workspace: Workspace, size: Size) -> Iterator[tuple[Recipe, str, list[GridCell]]]:
    """Walks the grid in the order in which it runs: the only place that knows what a study consists of.

    Yields:
        A victim, the reason why it must be skipped (empty if its data is there), and its cells (none if skipped).
    """
    for recipe in size.victims:
        reason = workspace.missing(recipe)
        yield recipe, reason, [] if reason else list(_cells_of(recipe, size))


def _cells_of(recipe: Recipe, size: Size) -> Iterator[GridCell]:
    for attack in size.attacks:
        settings = size.attack_settings.get(attack, {})
        seeds = range(size.seeds if ATTACKS[attack](**settings).randomised else 1)
        for budget in size.budgets:
            yield GridCell(recipe, attack, settings, budget, seeds)


def refusals(cells: Iterable[GridCell]) -> tuple[str, ...]:
    """A sentence that names the attacks that refused, if any did."""
    refused = dict.fromkeys(f"{cell.attack} at budget {cell.budget}" for cell in cells if cell.refused)
    return (f"Not run, too many passes per row: {', '.join(refused)}.",) if refused else ()


def run_grid(workspace: Workspace, size: Size) -> Grid:
    """Runs every cell that is not recorded yet. A victim whose data is missing is skipped."""
    grid = Grid()
    for recipe, reason, cells in grid_cells(workspace, size):
        if reason:
            grid.skipped.append(f"{recipe.name}: {reason}")
        grid.cells += [_run(workspace, cell, size.rows_of(cell.attack)) for cell in cells]
    return grid


def _run(workspace: Workspace, cell: GridCell, rows: int) -> GridCell:
    try:
        found = [
            workspace.evaluate(cell.recipe, cell.attack, cell.budget, seed, rows, cell.settings) for seed in cell.seeds
        ]
    except TooExpensiveError as error:
        return replace(cell, refused=str(error))
    return replace(cell, evaluations=tuple(found))


def plan_grid(workspace: Workspace, size: Size) -> list[Work]:
    """Lists the trainings and attacks that are left, one line per training and per attack on a victim."""
    steps: list[Work] = []
    for recipe, reason, cells in grid_cells(workspace, size):
        if reason:
            steps.append(Work(recipe.name, note=f"skipped: {reason}"))
            continue
        steps += plan_training(workspace, recipe)
        victim = workspace.untrained(recipe).victim
        seconds = seconds_per_pass(victim, workspace.rows(recipe, 64).batch(slice(None))[0])
        for attack, of_attack in groupby(cells, key=lambda cell: cell.attack):
            data = workspace.rows(recipe, size.rows_of(attack))
            steps.append(_plan_attack(workspace, list(of_attack), data, victim, seconds))
    return steps


def _plan_attack(workspace: Workspace, cells: list[GridCell], data: Dataset, victim: Victim, seconds: float) -> Work:
    """One attack on one victim at all budgets.

    Args:
        workspace: knows which rows are recorded.
        cells: one per budget.
        data: the rows of each cell.
        victim: untrained; what an attack costs at most does not depend on its weights.
        seconds: per forward pass of one row.
    """
    recipe, seeds, attack = cells[0].recipe, cells[0].seeds, cells[0].method()
    left, forward, backward, refused = 0, 0.0, 0.0, []
    for cell in cells:
        try:
            per_row = expected_passes(attack, victim, data, workspace.threat(recipe, cell.budget))
        except TooExpensiveError:
            refused.append(str(cell.budget))
            continue
        here = sum(workspace.remaining(recipe, attack, cell.budget, seed, len(data)) for seed in seeds)
        left, forward, backward = left + here, forward + here * per_row.forward, backward + here * per_row.backward
    whole = len(seeds) * len(data) * (len(cells) - len(refused))
    notes = [f"{whole - left:,} rows are recorded or counted above"] if left < whole else []
    notes += [f"refuses budget {', '.join(refused)}"] if refused else []
    what = f"{recipe.name}: {cells[0].attack} at {_plural(len(cells), 'budget')}, {_plural(len(seeds), 'seed')}"
    # A backward pass takes about as long as two forward passes.
    return Work(what, left, forward + backward, (forward + 2 * backward) * seconds, "; ".join(notes))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
