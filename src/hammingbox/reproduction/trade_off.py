"""The paper's figure of trade-offs: rows that stand and seconds a row, side by side for every attack."""

from dataclasses import dataclass

from hammingbox.report.artefacts.figures import Bar, trade_off_figure
from hammingbox.report.artefacts.table import Table
from hammingbox.reproduction.attack_table import SIZES, paper_cell
from hammingbox.studies.grid import Cell, plan_grid, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.statistics import over_seeds, seconds_a_row
from hammingbox.studies.study import Experiment, Outcome, Size
from hammingbox.studies.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class TradeOff(Experiment):
    """Bars of 1 - success and of time; its cells are those of the attack table."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """The attack table's cells: nothing new where that has been run."""
        return plan_grid(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """A figure for each victim and budget."""
        grid = run_grid(workspace, size)
        outcome = Outcome(skipped=grid.skipped, notes=self.reasons)
        lines = []
        for recipe in size.victims:
            for budget in size.budgets:
                cells = [c for c in grid.cells if c.recipe is recipe and c.budget == budget and c.evaluations]
                if cells:
                    figure = trade_off_figure(f"{recipe.data}, budget {budget}", [_bar(cell) for cell in cells])
                    outcome.figures[f"{recipe.data}-budget{budget}"] = figure
                    lines += [_line(cell) for cell in cells]
        columns = ("data", "attack", "ε", "1 - success %", "s a row", "paper %", "paper s")
        outcome.tables.append(Table(self.title, columns, tuple(lines), text_columns=2))
        return outcome


def _bar(cell: Cell) -> Bar:
    rate = over_seeds([e.success_rate for e in cell.evaluations])
    return Bar(cell.attack, 100 * (1 - rate.mean), seconds_a_row(cell.evaluations))


def _line(cell: Cell) -> tuple[str, ...]:
    bar, theirs = _bar(cell), paper_cell(cell)
    paper = ("-", "-") if theirs is None else (f"{100 - theirs[0]:.1f}", f"{theirs[1]:g}")
    return (cell.recipe.data, cell.attack, str(cell.budget), f"{bar.standing:.1f}", f"{bar.seconds:.3g}", *paper)


TRADE_OFF = TradeOff(
    name="trade-off",
    title="Trade-off of success and time",
    source="Figure 2",
    sizes=SIZES,
    reasons=("The figures show the attack table's runs; the paper shows IPS at budget 2 and AG's News at 3 and 4.",),
)
