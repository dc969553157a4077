"""Tables of defences: the error of each defended victim, clean and under each attack, beside the paper's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from hammingbox.evaluation.rates import Rate
from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.studies.grid import Grid, GridCell, plan_grid, refusals, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.statistics import over_seeds
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace

CLEAN = "none"
STRONGEST, WORST_OF_PAPER, WORST = "strongest of the paper's", "worst of the paper's", "worst of all"
"""The single attack of the paper with the highest error; rows broken by any attack of the paper; by any attack."""
BEYOND_PAPER = ("auto", "swap")
"""Attacks that the paper does not have. `WORST` includes them; numbers to compare with the paper leave them out."""

COMMON_REASONS = (
    "Error: rows that are wrong with or without the attack, over all rows, re-checked on discrete rows.",
    "Victims, data and training lengths are those of the preset, not the paper's: compare the order of the lines and "
    "the distance to the standard victim rather than the values.",
)

_COLUMNS = (
    Column.text("victim"),
    Column.text("attack"),
    Column.number("error %", ".1f"),
    Column.number("± seeds", ".1f"),
    Column.interval("± rows", ".0f", separator="-"),
    Column.number("paper %", ".1f"),
    Column.number("diff.", "+.1f"),
)


@dataclass(frozen=True, kw_only=True)
class DefenceTable(Study):
    """Defences against attacks at one or more budgets.

    Attributes:
        paper: the paper's error in % by victim label and attack; attack "none" is the clean error.
        paper_data: the data sets of the paper's numbers; victims of other data are shown without them.
        renamed: the paper's name of an attack, where it differs from ours.
    """

    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    paper_data: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Trainings and attacks."""
        return plan_grid(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Trains the victims that are not there yet, attacks them, and tabulates their errors."""
        return self.outcome(run_grid(workspace, size), size)

    def outcome(self, grid: Grid, size: Size) -> Outcome:
        """One table per budget."""
        tables = []
        for budget in size.budgets:
            rows = tuple(
                self._row(grid, recipe, attack, budget)
                for recipe in size.victims
                if grid.of(recipe)
                for attack in (CLEAN, *size.attacks, STRONGEST, WORST_OF_PAPER, WORST)
            )
            tables.append(Table(f"{self.title}, budget {budget}", _COLUMNS, rows, notes=refusals(grid.cells)))
        return Outcome(tables=tables, skipped=grid.skipped, notes=self.reasons)

    def _row(self, grid: Grid, recipe: Recipe, attack: str, budget: int) -> tuple[Value, ...]:
        cells = evaluated(grid, recipe, budget)
        rates = errors(cells, attack)
        paper = self._of_paper(recipe, attack, {cell.attack for cell in cells})
        shown = f"{attack} ({self.renamed[attack]})" if attack in self.renamed else attack
        if not rates:
            return (recipe.name, shown, None, None, None, paper, None)
        rate = over_seeds(rates).percent()
        difference = None if paper is None else rate.mean - paper
        return (recipe.name, shown, rate.mean, rate.half_width, Interval(*rate.rows), paper, difference)

    def _of_paper(self, recipe: Recipe, attack: str, ran: set[str]) -> float | None:
        """The paper's error. Its strongest attack is chosen among those that ran here."""
        values = self.paper.get(recipe.label, {}) if recipe.data in self.paper_data else {}
        if attack == STRONGEST:
            return max((value for name, value in values.items() if name in ran), default=None)
        return values.get(attack)


def evaluated(grid: Grid, recipe: Recipe, budget: int) -> list[GridCell]:
    """The cells of a victim at a budget whose attacks ran."""
    return [cell for cell in grid.of(recipe) if cell.budget == budget and cell.evaluations]


def errors(cells: list[GridCell], attack: str) -> list[Rate]:
    """Errors of one line of the table, one per seed; empty when nothing ran."""
    if attack == CLEAN:
        return [cells[0].evaluations[0].clean_error] if cells else []
    if attack == WORST:
        return _of_any(cells)
    of_paper = [cell for cell in cells if cell.attack not in BEYOND_PAPER]
    if attack == WORST_OF_PAPER:
        return _of_any(of_paper)
    if attack == STRONGEST:
        return max((_errors(cell) for cell in of_paper), key=lambda rates: over_seeds(rates).mean, default=[])
    return [rate for cell in cells if cell.attack == attack for rate in _errors(cell)]


def _errors(cell: GridCell) -> list[Rate]:
    return [evaluation.robust_error for evaluation in cell.evaluations]


def _of_any(cells: list[GridCell]) -> list[Rate]:
    """The share of rows that are wrong, or broken by any of these attacks with any seed."""
    wrong = [~e.rows.correct | e.rows.success for c in cells for e in c.evaluations]
    if not wrong:
        return []
    broken = torch.stack(wrong).any(0)
    return [Rate(int(broken.sum()), len(broken))]
