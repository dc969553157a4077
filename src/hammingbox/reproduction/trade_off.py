"""The paper's figure of trade-offs: unbroken rows and seconds per row, side by side for every attack."""

from dataclasses import dataclass

from hammingbox.report.artefacts.figures import Bar, trade_off_figure
from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.reproduction.attack_table import SIZES, error_percent, paper_cell, plan_attacks, run_attacks
from hammingbox.studies.grid import GridCell
from hammingbox.studies.plan import Work
from hammingbox.studies.statistics import seconds_per_row
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace

_COLUMNS = (
    Column.text("data"),
    Column.text("attack"),
    Column.number("ε"),
    Column.number("unbroken %", ".1f"),
    Column.number("s per row", ".3g"),
    Column.number("paper %", ".1f"),
    Column.number("paper s", "g"),
)


@dataclass(frozen=True, kw_only=True)
class TradeOff(Study):
    """Bars of unbroken rows (1 - error) and of time; its cells are those of the attack table."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """The cells of the attack table: nothing is left once that has run."""
        return plan_attacks(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """One figure per victim and budget."""
        grid = run_attacks(workspace, size)
        outcome = Outcome(skipped=grid.skipped, notes=self.reasons)
        rows: list[tuple[Value, ...]] = []
        for recipe in size.victims:
            for budget in size.budgets:
                cells = [cell for cell in grid.of(recipe) if cell.budget == budget and cell.runs]
                if cells:
                    bars = [Bar(cell.attack, *_measured(cell)) for cell in cells]
                    figure = trade_off_figure(f"{recipe.data}, budget {budget}", bars)
                    outcome.figures[f"{recipe.data}-budget{budget}"] = figure
                    rows += [_row(cell) for cell in cells]
        outcome.tables.append(Table(self.title, _COLUMNS, tuple(rows)))
        return outcome


def _measured(cell: GridCell) -> tuple[float, float]:
    """Rows that are right after the attack in % of all rows, and seconds per row."""
    return 100 - error_percent(cell).mean, seconds_per_row(cell.runs)


def _row(cell: GridCell) -> tuple[Value, ...]:
    paper = paper_cell(cell)
    of_paper = (None, None) if paper is None else (100 - paper.error, paper.seconds)
    return (cell.recipe.data, cell.attack, cell.budget, *_measured(cell), *of_paper)


TRADE_OFF = TradeOff(
    name="trade-off",
    title="Trade-off of success and time",
    source="Figure 2",
    sizes=SIZES,
    reasons=(
        "The figures show the runs of the attack table. Unbroken rows are right after the attack. They are counted "
        "over all rows, as in the paper, so a row that was wrong before is not one of them.",
        "The paper shows IPS at budget 2 and AG's News at budgets 3 and 4.",
    ),
)
