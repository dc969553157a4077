"""Studies that are grids of victims, attacks, budgets and seeds. Planning and running walk the same cells."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.errors import OutOfTimeError, TooExpensiveError, VictimError
from hammingbox.studies.plan import Work, expected_passes, plan_training, seconds_per_pass
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.run_facts import RunFacts
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from hammingbox.victims.victim import Victim


@dataclass(frozen=True)
class GridCell:
    """One attack on one training of a victim at one budget.

    Attributes:
        line: the line of the table that the cell belongs to; it may stand for several trainings.
        recipe: the victim, with the seed of its training.
        attack: the attack's name.
        settings: settings of the attack that differ from its defaults.
        budget: number of changes allowed.
        seeds: the seeds of the attack to run; one where the attack is deterministic.
        rows: number of test rows.
        runs: one per seed once the cell has run; empty before that, and where the attack refused.
        refused: why the attack refused to run, if it did.
    """

    line: Recipe
    recipe: Recipe
    attack: str
    settings: Mapping[str, Any]
    budget: int
    seeds: range
    rows: int
    runs: tuple[RunFacts, ...] = ()
    refused: str = ""

    def method(self) -> Attack:
        """The attack with its settings."""
        return ATTACKS[self.attack](**self.settings)


@dataclass
class Grid:
    """All cells that ran, and the victims and trainings that were skipped or failed, each with the reason."""

    cells: list[GridCell] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    trainings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The facts of every training, by the folder of its victim."""

    def of(self, recipe: Recipe) -> list[GridCell]:
        """The cells of one line, training by training and attack by attack; empty when it was skipped.

        Args:
            recipe: as it stands in the size of the study, with its number of trainings.
        """
        return [cell for cell in self.cells if cell.line is recipe]

    def trained(self, line: Recipe) -> list[dict[str, Any]]:
        """The facts of every training of a line; none for released weights."""
        folders = dict.fromkeys(cell.recipe.folder for cell in self.of(line))
        return [facts for folder in folders if (facts := self.trainings[folder])]


def grid_cells(workspace: Workspace, size: Size) -> Iterator[tuple[Recipe, str, list[GridCell]]]:
    """Walks the grid in the order in which it runs: the only place that knows what a study consists of.

    The first training of every line comes before the second of any: a study that is cut short has all of its lines.

    Yields:
        A victim, the reason why it must be skipped (empty if its data is there), and its cells (none if skipped). A
        line with several trainings is several victims; a skipped line is named once.
    """
    for training in range(max((line.trainings for line in size.victims), default=0)):
        for line in size.victims:
            if training >= line.trainings:
                continue
            if reason := workspace.missing(line):
                if training == 0:
                    yield line, reason, []
                continue
            recipe = line.each_training()[training]
            yield recipe, "", list(_cells_of(line, recipe, size))


def _cells_of(line: Recipe, recipe: Recipe, size: Size) -> Iterator[GridCell]:
    for attack in size.attacks:
        settings = size.attack_settings.get(attack, {})
        seeds = range(size.seeds if ATTACKS[attack](**settings).randomised else 1)
        for budget in size.budgets:
            yield GridCell(line, recipe, attack, settings, budget, seeds, size.rows_of(attack))


def refusals(cells: Iterable[GridCell]) -> tuple[str, ...]:
    """A sentence that names the attacks that refused, if any did."""
    refused = dict.fromkeys(f"{cell.attack} at budget {cell.budget}" for cell in cells if cell.refused)
    return (f"Not run, too many passes per row: {', '.join(refused)}.",) if refused else ()


def run_grid(workspace: Workspace, size: Size) -> Grid:
    """Runs every cell that is neither recorded nor published yet.

    A victim whose data is missing is skipped, and so is a training that fails because its loss is not finite. After the
    deadline of the workspace only what is there already is read, and what is left is named.
    """
    grid = Grid()
    for recipe, missing, cells in grid_cells(workspace, size):
        if missing:
            grid.skipped.append(f"{recipe.one_training}: {missing}")
            continue
        try:
            training = workspace.training(recipe, needed=any(_needs_weights(workspace, cell) for cell in cells))
        except VictimError as error:
            grid.skipped.append(f"{recipe.one_training}: the training failed: {error}")
            continue
        except OutOfTimeError as error:
            grid.skipped.append(f"{recipe.one_training}: {error}")
            cells = [cell for cell in cells if _is_published(workspace, cell)]
            training = workspace.training(recipe, needed=False) if cells else {}
        if cells:
            grid.trainings[recipe.folder] = training
        left: dict[str, list[str]] = {}
        for cell in cells:
            try:
                grid.cells.append(_run(workspace, cell))
            except OutOfTimeError as error:
                left.setdefault(str(error), []).append(f"{cell.attack} at budget {cell.budget}")
        grid.skipped += [f"{recipe.one_training}: {', '.join(runs)}: {reason}" for reason, runs in left.items()]
    return grid


def _is_published(workspace: Workspace, cell: GridCell) -> bool:
    return all(
        workspace.published_run(cell.recipe, cell.method(), cell.budget, seed, cell.rows) is not None
        for seed in cell.seeds
    )


def _needs_weights(workspace: Workspace, cell: GridCell) -> bool:
    """Whether a cell has rows to attack: no run of it is published, and the attack does not refuse."""
    return not _is_published(workspace, cell) and not _refusal(workspace, cell)


def _run(workspace: Workspace, cell: GridCell) -> GridCell:
    if not _is_published(workspace, cell) and (reason := _refusal(workspace, cell)):
        return replace(cell, refused=reason)  # before its victim is trained for nothing
    try:
        found = [
            workspace.evaluate(cell.recipe, cell.method(), cell.attack, cell.budget, seed, cell.rows)
            for seed in cell.seeds
        ]
    except TooExpensiveError as error:  # by a row that `_refusal` has not looked at
        return replace(cell, refused=str(error))
    return replace(cell, runs=tuple(found))


def _refusal(workspace: Workspace, cell: GridCell) -> str:
    """Why an attack would refuse; empty if it would run."""
    victim, rows = workspace.untrained(cell.recipe).victim, workspace.rows(cell.recipe, cell.rows)
    try:
        expected_passes(cell.method(), victim, rows, workspace.threat(cell.recipe, cell.budget))
    except TooExpensiveError as error:
        return str(error)
    return ""


def plan_grid(workspace: Workspace, size: Size) -> list[Work]:
    """Lists the trainings and attacks that are left, one line per training and per attack on a victim."""
    steps: list[Work] = []
    for recipe, reason, cells in grid_cells(workspace, size):
        if reason:
            steps.append(Work(recipe.name, note=f"skipped: {reason}"))
            continue
        cells = [cell for cell in cells if not _is_published(workspace, cell)]
        if not cells:
            continue
        steps += plan_training(workspace, recipe)
        victim = workspace.untrained(recipe).victim
        seconds = seconds_per_pass(victim, workspace.rows(recipe, 64).batch(slice(None))[0])
        for _, of_attack in groupby(cells, key=lambda cell: cell.attack):
            steps.append(_plan_attack(workspace, list(of_attack), victim, seconds))
    return steps


def _plan_attack(workspace: Workspace, cells: list[GridCell], victim: Victim, seconds: float) -> Work:
    """One attack on one victim at all budgets.

    Args:
        workspace: knows which rows are recorded.
        cells: one per budget.
        victim: untrained; what an attack costs at most does not depend on its weights.
        seconds: per forward pass of one row.
    """
    recipe, seeds, attack = cells[0].recipe, cells[0].seeds, cells[0].method()
    data = workspace.rows(recipe, cells[0].rows)
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
    what = f"{recipe.one_training}: {cells[0].attack} at {_plural(len(cells), 'budget')}, {_plural(len(seeds), 'seed')}"
    # A backward pass takes about as long as two forward passes.
    return Work(what, left, forward + backward, (forward + 2 * backward) * seconds, "; ".join(notes))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
