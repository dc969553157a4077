"""How a table is shown on a terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid
from rich.text import Text

from hammingbox.cli.console import out
from hammingbox.report.artefacts.table import Column, Table


def show_table(table: Table) -> None:
    """Prints a table with its title and notes."""
    out.print(Text(table.title, style="bold"))
    out.print(grid_of(table))
    for note in table.notes:
        out.print(Text(f"- {note}", style="dim"))


def grid_of(table: Table) -> Grid:
    """A table's values as a grid for the terminal."""
    grid = empty_grid(table.columns)
    for row in table.texts():
        grid.add_row(*map(Text, row))
    return grid


def empty_grid(columns: Sequence[Column]) -> Grid:
    """A narrow grid: words left, numbers right. A long heading of numbers may wrap, so that 80 columns are enough."""
    grid = Grid(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        words = column.kind == "text"
        whole = not words and " " not in column.heading
        grid.add_column(Text(column.heading), justify="left" if words else "right", no_wrap=whole)
    return grid
