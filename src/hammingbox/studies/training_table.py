"""What the trainings of a table cost: rows, epochs, seconds, and a step in units of a standard step."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.studies.grid import Grid
from hammingbox.studies.recipe import Recipe

NOTES = (
    "Means over trainings, without the trainings they start from. Seconds include the validation after each epoch; "
    "cost of a step is its time over that of a standard step on the same rows.",
)

_COLUMNS = (
    Column.text("victim"),
    Column.number("trainings"),
    Column.number("training rows", ",.0f"),
    Column.number("epochs", ".1f"),
    Column.number("seconds", ",.0f"),
    Column.number("cost of a step", ".1f"),
    Column.number("clean test accuracy %", ".1f"),
)


def training_table(title: str, grid: Grid, lines: Sequence[Recipe]) -> Table:
    """One line per line of the table; a released victim has no training to show."""
    rows = tuple(_row(line, facts) for line in lines if (facts := grid.trained(line)))
    return Table(title, _COLUMNS, rows, notes=NOTES)


def _row(line: Recipe, facts: Sequence[dict[str, Any]]) -> tuple[Value, ...]:
    def mean(name: str, factor: float = 1.0) -> float | None:
        values = [one[name] for one in facts if one.get(name) is not None]
        return factor * fmean(values) if values else None

    return (
        line.name, len(facts), mean("train_rows"), mean("epochs"), mean("seconds"), mean("cost_of_an_epoch"),
        mean("test_accuracy", 100.0),
    )  # fmt: skip
