"""How `compare` shows what it found on a terminal."""

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from hammingbox.cli.console import out, plain, say
from hammingbox.cli.findings import show_findings
from hammingbox.report.comparison import Comparison


def show_models(comparisons: Sequence[Comparison]) -> None:
    """Prints the paper's defence table: the error of every model, clean and under each attack."""
    budgets = comparisons[0].budgets
    say(f"[bold]{plain(comparisons[0].data)}[/]: error in % of all rows, clean and under each attack")
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)
    for column in ("model", "attack"):
        table.add_column(column)
    for budget in budgets:
        table.add_column(str(budget), justify="right", no_wrap=True)
    for comparison in comparisons:
        clean = "-" if comparison.accuracy is None else f"{100 * (1 - comparison.accuracy):.1f}"
        table.add_row(plain(comparison.victim), "none", *[clean] * len(budgets), style="bold")
        for attack in comparison.attacks:
            table.add_row("", attack, *(_robust_error(comparison, attack, budget) for budget in budgets))
    out.print(table)


def _robust_error(comparison: Comparison, attack: str, budget: int) -> str:
    cell = comparison.cell(attack, budget)
    return "-" if cell is None or cell.summary is None else f"{100 * cell.summary['robust_error']:.1f}"


def show(comparison: Comparison, *, gaps: bool = False) -> None:
    """Prints the table of success and time, the gaps to the oracle when asked, and what is doubtful."""
    say(f"[bold]{plain(comparison.data)}, {plain(comparison.victim)}[/]: success in %, and seconds a row")
    out.print(_table(comparison, _success))
    if gaps:
        out.print("[bold]optimality gap[/]: points of success that the oracle has and the attack has not")
        out.print(_table(comparison, _gap))
    show_findings(comparison.findings)


def _table(comparison: Comparison, cell: Callable[[Comparison, str, int], str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)  # 80 columns are enough
    table.add_column("budget", no_wrap=True)
    for budget in comparison.budgets:
        table.add_column(str(budget), justify="right", no_wrap=True)
    for attack in comparison.attacks:
        table.add_row(attack, *(cell(comparison, attack, budget) for budget in comparison.budgets))
    return table


def _success(comparison: Comparison, attack: str, budget: int) -> str:
    """As in the paper's attack table; the best success of a budget is bold."""
    cell = comparison.cell(attack, budget)
    if cell is None or cell.summary is None:
        return "-"
    rate, seconds = cell.summary["success_rate"], cell.summary["seconds"] / max(cell.summary["attacked"], 1)
    shown = f"{100 * rate:.1f}"
    return f"{f'[bold]{shown}[/]' if rate == comparison.best(budget) else shown} [dim]{seconds:5.3f}[/]"


def _gap(comparison: Comparison, attack: str, budget: int) -> str:
    cell = comparison.cell(attack, budget)
    gap = cell.summary.get("optimality_gap") if cell is not None and cell.summary is not None else None
    return "-" if gap is None else f"{100 * gap:.1f}"
