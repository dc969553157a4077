"""The error of each defended line as a share of its standard line's error, with an interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.studies.bootstrap import ratio_interval
from hammingbox.studies.line_errors import LineErrors, paired
from hammingbox.studies.recipe import Recipe

NOTES = (
    "Ratio: error over the error of the standard victim, on the training seeds and rows that both have; its 95 % "
    "interval covers rows (resampled) and, with several trainings, trainings (Student's t).",
)

_COLUMNS = (
    Column.text("victim"),
    Column.text("over"),
    Column.text("attack"),
    Column.number("ratio", ".2f"),
    Column.interval("95 % interval", ".2f"),
    Column.number("trainings"),
    Column.number("rows"),
    Column.number("paper", ".2f"),
)


@dataclass(frozen=True)
class Ratio:
    """The error of a line over that of its standard line.

    Attributes:
        value: mean error over mean error; None if the standard line has no errors.
        interval: its 95 % interval, over rows and trainings.
        trainings: number of trainings.
        rows: rows of each training.
    """

    value: float | None
    interval: Interval | None
    trainings: int
    rows: int


def error_ratio(line: LineErrors | None, standard: LineErrors | None) -> Ratio | None:
    """The ratio of two errors; None if one of the lines did not run, or if they share no training seed."""
    both = None if line is None or standard is None else paired(line, standard)
    if both is None:
        return None
    above, below = (one.wrong.mean().item() for one in both)
    value = above / below if below else None
    return Ratio(value, ratio_interval(*both), len(both[0].trainings), len(both[0].numbers))


def ratio_table(title: str, ratios: Sequence[tuple[Recipe, Recipe, str, Ratio, float | None]]) -> Table:
    """One line per defended victim and attack.

    Args:
        title: what it shows.
        ratios: the line, its standard line, the attack, the ratio and the paper's ratio.
    """
    rows: list[tuple[Value, ...]] = [
        (line.name, standard.name, attack, ratio.value, ratio.interval, ratio.trainings, ratio.rows, paper)
        for line, standard, attack, ratio, paper in ratios
    ]
    return Table(title, _COLUMNS, tuple(rows), notes=NOTES)


def standard_line(line: Recipe, lines: Sequence[Recipe], chosen: Mapping[str, str]) -> Recipe | None:
    """The standard line that a defended line is measured against; None for a standard line, or if there is none.

    Args:
        line: the defended line.
        lines: all lines of the table.
        chosen: labels of standard lines by the label of the defended line. Without one: the victim that the defence
            starts from, or else the first standard line with the same data, model and settings of the model.
    """
    if line.start is None:
        return None
    if line.label in chosen:
        return next((other for other in lines if other.label == chosen[line.label]), None)
    standard = [other for other in lines if other.start is None and _alike(other, line)]
    own = [other for other in standard if other.folder == line.start.folder]
    return next(iter([*own, *standard]), None)


def _alike(one: Recipe, two: Recipe) -> bool:
    return (one.data, one.model, dict(one.model_settings), one.neighbours) == (
        two.data, two.model, dict(two.model_settings), two.neighbours,
    )  # fmt: skip
