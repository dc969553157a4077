"""Options that choose the rows of a split, and which class comes first in what is shown."""

from typing import Annotated

import typer

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.drawing import Draw
from hammingbox.running.data_reference import DataReference
from hammingbox.running.tasks import Task
from hammingbox.seeding import LARGEST_SEED
from hammingbox.settings import MOST_TABLE_ROWS

DEFAULT_ROWS = 100

ALL_ROWS = -1
"""What `--rows all` is for the program."""


def rows_or_all(value: str | int) -> int:
    """A number of rows, or all of them.

    Raises:
        BadParameter: it is neither.
    """
    text = str(value)
    if text == "all":
        return ALL_ROWS
    number = int(text[:20]) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= MOST_TABLE_ROWS:
        raise typer.BadParameter(f"expected a number of rows (1 to {MOST_TABLE_ROWS:,}) or all, got {text!r:.40}.")
    return number


Rows = Annotated[
    int | None,
    typer.Option(
        parser=rows_or_all,
        metavar="N|all",
        help=f"How many rows of the split are used, or all; {DEFAULT_ROWS} by default.",
    ),
]
RowsPerClass = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_TABLE_ROWS, help="In place of --rows: so many rows of each class, or all it has."),
]
DrawHow = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="How --rows are chosen: 'classes' (as many of each class; the default for your own tables), 'random', "
        "or 'first' (the default for built-in data, whose parts are shuffled).",
    ),
]
RowsSeed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the choice of rows.")]
Positive = Annotated[
    str | None,
    typer.Option(help="The class an attacker hides, such as fraud: its rates come first.", metavar="CLASS"),
]


def sample_from(
    task: Task,
    split: str,
    rows: int | None,
    per_class: int | None,
    how: str | None,
    seed: int,
    positive: str | None = None,
    *,
    default: int = DEFAULT_ROWS,
) -> tuple[Dataset, DataReference]:
    """The rows that the options choose, and how a run finds them again.

    Raises:
        InputError: both --rows and --rows-per-class, an unknown split, class or way to draw, or too few rows.
    """
    if rows is not None and per_class is not None:
        raise InputError(f"expected --rows or --rows-per-class, got both ({rows} and {per_class}). Leave one out.")
    if rows == ALL_ROWS:
        if how is not None:
            raise InputError(f"expected --draw where some rows are chosen, got {how!r} with --rows all. Leave it out.")
        return task.sample(split, Draw(how="all"), positive=positive)
    if per_class is None and rows is None:
        rows = min(default, len(task.whole(split)))
    usual = "classes" if task.is_own or per_class is not None else "first"
    draw = Draw(rows, per_class, usual if how is None else how, seed)
    return task.sample(split, draw, positive=positive)
