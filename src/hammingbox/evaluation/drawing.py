"""Which rows of a split are attacked: the first ones, a random sample, or a sample with as many rows of every class.

A sample that follows the shares of the classes has hardly a row of a rare class: 100 rows of a table with 3 % fraud
hold three. Where rows are drawn by class, rates of the whole split are weighted sums of the classes' rates, see
`hammingbox.evaluation.class_rates`.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError, unknown_name
from hammingbox.seeding import check_seed, torch_generator
from hammingbox.settings import MOST_TABLE_ROWS, whole_number
from hammingbox.types import RowInt

WAYS = ("first", "random", "classes", "all")
"""How rows may be chosen."""


@dataclass(frozen=True)
class Draw:
    """How rows are chosen. A larger draw with the same seed contains the smaller one, so that records are shared.

    Attributes:
        rows: how many; None with `per_class`, and for all rows.
        per_class: how many of each class, or all rows of a class that has fewer; None with `rows`.
        how: the first rows of the split; at random; as many of each class as possible, the rarest first; or all rows,
            in the order of their numbers.
        seed: of the draw.
    """

    rows: int | None = None
    per_class: int | None = None
    how: str = "classes"
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: both numbers or none, a number below 1, or an unknown way to draw.
        """
        if self.how == "all":
            if (self.rows, self.per_class) != (None, None):
                raise InputError("expected no number of rows where all are taken, got one.")
            return
        if (self.rows is None) == (self.per_class is None):
            raise InputError("expected either a number of rows or a number of rows per class, got both or neither.")
        whole_number("number of rows", self.rows or self.per_class or 0, least=1, most=MOST_TABLE_ROWS)
        if self.how not in WAYS:
            raise unknown_name("way to draw rows", str(self.how), WAYS)
        if self.per_class is not None and self.how != "classes":
            raise InputError(f"expected rows per class to be drawn by class, got {self.how!r}. Use 'classes'.")
        check_seed(self.seed)


@dataclass(frozen=True)
class Sample:
    """How the rows of a run were drawn and what they stand for; a store keeps it beside the place of the data.

    Attributes:
        draw: how rows were chosen.
        population: rows of each class in the whole split, in the order of the schema's classes.
        positive: the class whose rows an attacker wants to be taken for others, if the user named one.
    """

    draw: Draw
    population: tuple[int, ...]
    positive: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self.draw) | {"population": list(self.population), "positive": self.positive}

    @staticmethod
    def from_json(value: Any) -> "Sample":
        """Reads what `to_json` wrote.

        Raises:
            InputError, KeyError, TypeError, ValueError: it is damaged.
        """
        draw = Draw(value["rows"], value["per_class"], value["how"], value["seed"])
        population = tuple(whole_number("rows of a class", count, least=0) for count in value["population"])
        positive = value["positive"]
        if positive is not None and not isinstance(positive, str):
            raise ValueError("expected the name of a class")
        return Sample(draw, population, positive)


def draw_rows(data: Dataset, draw: Draw) -> Dataset:
    """The rows of a split that a draw chooses.

    Of a whole table pass the rows in the order of their source, `Splits.by_number`: `Splits.whole` has them in a random
    order, and a draw with the seed of the split undoes it.

    Raises:
        InputError: the split has fewer rows.
    """
    if draw.rows is not None and draw.rows > len(data):
        raise InputError(f"expected at most {len(data)} rows, got --rows {draw.rows}. This split has no more.")
    if draw.how == "all":
        return data.by_number()
    if draw.how == "first":
        return data.take(slice(0, draw.rows))
    order = torch.randperm(len(data), generator=torch_generator(draw.seed), device="cpu")
    if draw.how == "random":
        return data.take(order[: draw.rows])
    rank, order = _turns(data.labels.cpu()[order].long(), order)
    return data.take(order[rank < draw.per_class] if draw.per_class is not None else order[: draw.rows])


def population_of(data: Dataset) -> tuple[int, ...]:
    """Rows of each class."""
    return tuple(torch.bincount(data.labels.cpu().long(), minlength=len(data.schema.classes)).tolist())


def _turns(labels: RowInt, order: RowInt) -> tuple[RowInt, RowInt]:
    """Rows in turns: the first of each class, the rarest class first, then the second of each, and so on.

    For example, labels [0, 0, 1, 0] in the order [5, 3, 8, 1] become ranks [0, 0, 1, 2] and rows [8, 5, 3, 1].
    """
    sizes = torch.bincount(labels)
    rank = torch.empty_like(labels)
    for label in range(len(sizes)):
        mine = (labels == label).nonzero()[:, 0]
        rank[mine] = torch.arange(len(mine), device="cpu")
    rarest = torch.argsort(torch.argsort(sizes, stable=True), stable=True)[labels]
    turn = torch.argsort(rank * len(sizes) + rarest)
    return rank[turn], order[turn]
