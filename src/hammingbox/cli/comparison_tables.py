"""How `compare` shows its results on a terminal."""

from collections.abc import Callable, Sequence

from rich.text import Text

from hammingbox.cli.class_tables import show_class_budgets
from hammingbox.cli.console import out, plain, say
from hammingbox.cli.findings import show_findings
from hammingbox.cli.tables import empty_grid, grid_of
from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.artefacts.table import MISSING, Column, Table, Value
from hammingbox.report.summary import Cell, VictimSummary

CLEAN = "none"
"""Stands for no attack."""


def show_models(summaries: Sequence[VictimSummary]) -> None:
    """Prints the paper's defence table: the error of every model, clean and under each attack."""
    say(f"[bold]{plain(summaries[0].results.data)}[/]: error in % of all rows, clean and under each attack")
    table = models_table(summaries)
    grid = grid_of(table)
    for shown, (_, attack, *_errors) in zip(grid.rows, table.rows, strict=True):
        shown.style = "bold" if attack == CLEAN else ""
    out.print(grid)


def models_table(summaries: Sequence[VictimSummary]) -> Table:
    """One line per model without an attack, and one per attack; a column per budget."""
    budgets = summaries[0].budgets
    lines: list[tuple[Value, ...]] = []
    for summary in summaries:
        clean = summary.clean_error
        lines.append((summary.name, CLEAN, *[None if clean is None else 100 * clean.value] * len(budgets)))
        lines += [("", *line) for line in _by_budget(summary, lambda cell: 100 * cell.robust_error)]
    columns = (Column.text("model"), Column.text("attack"), *_budget_columns(budgets, ".1f"))
    return Table("Error in % of all rows, clean and under each attack", columns, tuple(lines))


def show(summary: VictimSummary, findings: Sequence[Finding], *, gaps: bool = False) -> None:
    """Prints findings before any number, then success and time, proofs, and the gaps to the oracle on request."""
    show_findings(findings)
    show_results(summary, gaps=gaps)


def show_results(summary: VictimSummary, *, gaps: bool = False) -> None:
    """Prints success and time, proofs where there are any, and the gaps to the oracle on request."""
    say(f"[bold]{plain(summary.results.data)}, {plain(summary.name)}[/]: success in %, and seconds per row")
    _show_success(summary)
    for attack, budgets, reason in summary.refused:
        which = f"budget{'s' if len(budgets) > 1 else ''} {', '.join(map(str, budgets))}"
        say(f"  [dim]{plain(attack)} at {which} was refused: {plain(reason)}[/]")
    if summary.has_proofs:
        say("[bold]worst case[/]: rows that any attack broke, rows proven unbreakable, and the rest")
        out.print(grid_of(status_table(summary)))
    if gaps:
        say("[bold]optimality gap[/]: breakable rows that the attack misses, in % of the attacked rows")
        out.print(grid_of(gap_table(summary)))
    show_class_budgets(summary.classes)


def status_table(summary: VictimSummary) -> Table:
    """Broken, proven and unknown rows in the worst case at each budget."""
    columns = (Column.text("budget"), *_budget_columns([line.budget for line in summary.worst], "d"))
    lines: tuple[tuple[Value, ...], ...] = (
        ("broken", *(line.success.hits for line in summary.worst)),
        ("proven", *(line.proven for line in summary.worst)),
        ("unknown", *(line.unknown for line in summary.worst)),
    )
    if any(line.not_attackable for line in summary.worst):
        lines = (*lines, ("not attackable", *(line.not_attackable for line in summary.worst)))
    return Table("Rows in the worst case over all attacks", columns, lines)


def gap_table(summary: VictimSummary) -> Table:
    """How much success every attack lacks, where an exact attack was run."""
    columns = (Column.text("budget"), *_budget_columns(summary.budgets, ".1f"))
    lines = _by_budget(summary, lambda cell: None if cell.gap is None else 100 * cell.gap)
    return Table("Breakable rows that the attack misses, in %", columns, tuple(lines))


def _budget_columns(budgets: Sequence[int], form: str) -> list[Column]:
    return [Column.number(str(budget), form) for budget in budgets]


def _by_budget(summary: VictimSummary, value: Callable[[Cell], float | None]) -> list[tuple[Value, ...]]:
    """One line per attack: its name, and a value for each budget where it ran."""
    return [
        (
            attack,
            *(None if (cell := summary.ran(attack, budget)) is None else value(cell) for budget in summary.budgets),
        )
        for attack in summary.attacks
    ]


def _show_success(summary: VictimSummary) -> None:
    """As in the paper's attack table, success and seconds in each cell; the best success at a budget is bold."""
    grid = empty_grid((Column.text("budget"), *_budget_columns(summary.budgets, ".1f")))
    for attack in summary.attacks:
        cells = []
        for budget in summary.budgets:
            cell = summary.ran(attack, budget)
            if cell is None or not cell.attacked:  # no rate over no rows
                cells.append(Text(MISSING))
                continue
            style = "bold" if cell.rate == summary.best(budget) else ""
            rate = f"{100 * cell.rate:.1f}" if cell.attacked else MISSING
            cells.append(Text.assemble((rate, style), " ", (f"{cell.seconds:5.3f}", "dim")))
        grid.add_row(attack, *cells)
    out.print(grid)
