"""Tables of defences: the error of each defended victim, clean and under each attack, beside the paper's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from hammingbox.evaluation.rates import Rate
from hammingbox.report.artefacts.table import Table
from hammingbox.studies.grid import Cell, Grid, plan_grid, refusals, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.statistics import over_seeds
from hammingbox.studies.study import Experiment, Outcome, Size
from hammingbox.studies.workspace import Workspace

CLEAN = "none"
STRONGEST, WORST_OF_PAPER, WORST = "strongest of the paper's", "worst of the paper's", "worst of all"
"""The one attack of the paper that breaks the most rows; rows that fall to any attack of the paper; to any at all."""
BEYOND_PAPER = ("auto", "swap")
"""Attacks the paper does not have: figures comparable with it leave them out, the honest figure does not."""

COMMON_REASONS = (
    "Error: rows that are wrong with or without the attack, over all rows attacked, re-checked on discrete rows.",
    "Victims, data and training lengths are those of the preset, not the paper's: compare the order of the lines and "
    "the distance to the standard victim rather than the figures.",
)


@dataclass(frozen=True, kw_only=True)
class DefenceTable(Experiment):
    """Defences x attacks at one budget.

    Attributes:
        paper: the paper's error in % by line and attack ("none" is the clean error); lines are labels of
            victims.
        paper_data: the data sets it is about; victims of other data have no figures beside them.
        renamed: what the paper calls an attack of ours, where it has another name.
    """

    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    paper_data: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Trainings and attacks."""
        return plan_grid(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Trains victims that are not there, attacks them, and shows errors."""
        return self.outcome(run_grid(workspace, size), size)

    def outcome(self, grid: Grid, size: Size) -> Outcome:
        """One table a budget."""
        tables = []
        for budget in size.budgets:
            rows = [
                line
                for recipe in size.victims
                for attack in (CLEAN, *size.attacks, STRONGEST, WORST_OF_PAPER, WORST)
                if (line := self._line(grid, recipe, attack, budget)) is not None
            ]
            title = f"{self.title}, budget {budget}"
            columns = ("victim", "attack", "error %", "± seeds", "± rows", "paper %", "diff.")
            tables.append(Table(title, columns, tuple(rows), notes=refusals(grid.cells), text_columns=2))
        return Outcome(tables=tables, skipped=grid.skipped, notes=self.reasons)

    def _line(self, grid: Grid, recipe: Recipe, attack: str, budget: int) -> tuple[str, ...] | None:
        if not any(c.recipe is recipe for c in grid.cells):
            return None
        cells = evaluated(grid, recipe, budget)
        rates = errors(cells, attack)
        theirs = self._theirs(recipe, attack, {c.attack for c in cells})
        paper = "-" if theirs is None else f"{theirs:.1f}"
        shown = f"{attack} ({self.renamed[attack]})" if attack in self.renamed else attack
        name = f"{recipe.data}, {recipe.label}"
        if not rates:
            return (name, shown, "-", "-", "-", paper, "-")
        rate = over_seeds(rates)
        half = "-" if rate.half_width is None else f"{100 * rate.half_width:.1f}"
        low, high = rate.rows
        return (
            name, shown, f"{100 * rate.mean:.1f}", half, f"{100 * low:.0f}-{100 * high:.0f}", paper,
            "-" if theirs is None else f"{100 * rate.mean - theirs:+.1f}",
        )  # fmt: skip

    def _theirs(self, recipe: Recipe, attack: str, ran: set[str]) -> float | None:
        """The paper's figure; its strongest attack is sought among those that ran here."""
        figures = self.paper.get(recipe.label, {}) if recipe.data in self.paper_data else {}
        if attack == STRONGEST:
            return max((value for name, value in figures.items() if name in ran), default=None)
        return figures.get(attack)


def evaluated(grid: Grid, recipe: Recipe, budget: int) -> list[Cell]:
    """The cells of a victim that ran."""
    return [c for c in grid.cells if c.recipe is recipe and c.budget == budget and c.evaluations]


def errors(cells: list[Cell], line: str) -> list[Rate]:
    """Errors of a line of the table, one a seed; none when nothing ran."""
    if line == CLEAN:
        return [cells[0].evaluations[0].clean_error] if cells else []
    if line == WORST:
        return _of_any(cells)
    papers = [cell for cell in cells if cell.attack not in BEYOND_PAPER]
    if line == WORST_OF_PAPER:
        return _of_any(papers)
    if line == STRONGEST:
        return max((_errors(cell) for cell in papers), key=lambda rates: over_seeds(rates).mean, default=[])
    return [rate for cell in cells if cell.attack == line for rate in _errors(cell)]


def _errors(cell: Cell) -> list[Rate]:
    return [evaluation.robust_error for evaluation in cell.evaluations]


def _of_any(cells: list[Cell]) -> list[Rate]:
    """The share of rows that are wrong or fall to any of some attacks with any of their seeds."""
    wrong = [~e.rows.correct | e.rows.success for c in cells for e in c.evaluations]
    if not wrong:
        return []
    fallen = torch.stack(wrong).any(0)
    return [Rate(int(fallen.sum()), len(fallen))]
