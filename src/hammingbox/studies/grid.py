"""Experiments that are grids: victims x attacks x budgets x seeds, each cell a run of the store."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hammingbox.attacks import ATTACKS
from hammingbox.errors import FileError, InputError, TooExpensiveError
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.studies.plan import Work, passes_a_row, plan_training, seconds_a_pass
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace

DRAWS = frozenset(
    {"auto", "pcaa", "pcaa_paper", "swap", "guided", "local", "evolution", "sparse_rs", "pcaa_blackbox", "genetic",
     "random"}
)  # fmt: skip
"""Attacks whose result depends on the seed; the others need one run."""


@dataclass(frozen=True)
class Cell:
    """One attack on one victim at one budget: an evaluation for each seed, or why there is none."""

    recipe: Recipe
    attack: str
    budget: int
    evaluations: tuple[Evaluation, ...] = ()
    refused: str = ""


@dataclass
class Grid:
    """All cells of an experiment, and the victims that could not be had."""

    cells: list[Cell] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def cell(self, recipe: Recipe, attack: str, budget: int) -> Cell | None:
        """One cell, if its victim was there."""
        return next((c for c in self.cells if c.recipe is recipe and (c.attack, c.budget) == (attack, budget)), None)


def refusals(cells: Iterable[Cell]) -> tuple[str, ...]:
    """A sentence that names the attacks which refused, if any did."""
    refused = dict.fromkeys(f"{cell.attack} at budget {cell.budget}" for cell in cells if cell.refused)
    return (f"Not run, too many passes a row: {', '.join(refused)}.",) if refused else ()


def run_grid(workspace: Workspace, size: Size) -> Grid:
    """Runs every cell that is not recorded; a victim whose data is missing is skipped and said so."""
    grid = Grid()
    for recipe in size.victims:
        try:
            workspace.need(recipe)
        except (FileError, InputError) as error:
            grid.skipped.append(f"{recipe.data}, {recipe.label}: {error}")
            continue
        for attack in size.attacks:
            for budget in size.budgets:
                grid.cells.append(_cell(workspace, size, recipe, attack, budget))
    return grid


def _cell(workspace: Workspace, size: Size, recipe: Recipe, attack: str, budget: int) -> Cell:
    settings = size.attack_settings.get(attack, {})
    try:
        found = [
            workspace.evaluate(recipe, attack, budget, seed, size.rows, settings)
            for seed in range(size.seeds if attack in DRAWS else 1)
        ]
    except TooExpensiveError as error:
        return Cell(recipe, attack, budget, refused=str(error))
    return Cell(recipe, attack, budget, tuple(found))


def plan_grid(workspace: Workspace, size: Size) -> list[Work]:
    """What is left to do of every victim's training and cells."""
    steps: list[Work] = []
    for recipe in size.victims:
        try:
            steps += plan_training(workspace, recipe)
            steps += _plan_attacks(workspace, size, recipe)
        except (FileError, InputError) as error:
            steps.append(Work(f"{recipe.data}, {recipe.label}", note=f"skipped: {error}"))
    return steps


def _plan_attacks(workspace: Workspace, size: Size, recipe: Recipe) -> list[Work]:
    data = workspace.rows(recipe, size.rows)
    once = seconds_a_pass(workspace.untrained(recipe).victim, data.batch(slice(0, 64))[0])
    counts = workspace.threat(recipe, 1).space.candidates(data.batch(slice(0, 4))[0]).counts.double().mean(0)
    steps = []
    for name in size.attacks:
        attack = ATTACKS[name](**size.attack_settings.get(name, {}))
        seeds = range(size.seeds if name in DRAWS else 1)
        rows, forward, backward, refused = 0, 0.0, 0.0, []
        for budget in size.budgets:
            each = passes_a_row(attack, counts, budget)
            if not each[0]:
                refused.append(str(budget))
                continue
            left = sum(workspace.remaining(recipe, attack, budget, seed, len(data)) for seed in seeds)
            rows, forward, backward = rows + left, forward + left * each[0], backward + left * each[1]
        whole = len(seeds) * len(data) * (len(size.budgets) - len(refused))
        notes = [f"{whole - rows:,} rows are recorded or counted above"] if rows < whole else []
        notes += [f"refuses budget {', '.join(refused)}"] if refused else []
        what = f"{recipe.data}, {recipe.label}: {name} at {len(size.budgets)} budgets, {len(seeds)} seeds"
        steps.append(Work(what, rows, forward + backward, (forward + 2 * backward) * once, "; ".join(notes)))
    return steps
