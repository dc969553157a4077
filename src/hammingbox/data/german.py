"""German credit (UCI; Hofmann 1994), shipped with the package: who repays a loan.

1,000 applicants with 20 columns. Thirteen are categories, with the codes of the original (A11, A12, ...). Duration,
amount and age are cut at their quartiles; the four other numbers have few values, each of which is a category.
"""

import csv
import io
from importlib.resources import files
from pathlib import Path

import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.split import divide

CUTS = {"duration": (12, 18, 24), "amount": (1364, 2319, 3972), "age": (27, 33, 42)}
"""The quartiles of the 1,000 rows; a value that equals one belongs to the lower part."""

IMMUTABLE = ("personal", "age", "foreign")
"""What an applicant cannot write otherwise: sex and marital status, age, being a foreign worker."""

_CLASSES = {"1": "good", "2": "bad"}


def load(*, data_dir: Path | None = None) -> Splits:  # noqa: ARG001
    """The fixed split: 700, 101 and 199 rows.

    Args:
        data_dir: not used, as the data comes with the package; every loader takes it.
    """
    return divide(all_rows())


def all_rows() -> Dataset:
    """The 1,000 rows in the order of the file."""
    text = files("hammingbox.data").joinpath("files/german.csv").read_text("ascii")
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [name for name in rows[0] if name != "class"]
    cells = {name: [_cell(name, row[name]) for row in rows] for name in names}
    features = tuple(Feature(name, _categories(name, cells[name])) for name in names)
    schema = Schema(features, tuple(_CLASSES.values()))
    columns = [[feature.categories.index(cell) for cell in cells[feature.name]] for feature in features]
    labels = [schema.classes.index(_CLASSES[row["class"]]) for row in rows]
    ids = torch.tensor(columns, device="cpu").T.contiguous()
    return Dataset(schema, ids, torch.tensor(labels, device="cpu"), "german")


def _cell(name: str, value: str) -> str:
    if name not in CUTS:
        return value
    below = [cut for cut in CUTS[name] if int(value) > cut]
    return _parts(name)[len(below)]


def _parts(name: str) -> tuple[str, ...]:
    low, middle, high = CUTS[name]
    return f"up to {low}", f"{low + 1} to {middle}", f"{middle + 1} to {high}", f"above {high}"


def _categories(name: str, cells: list[str]) -> tuple[str, ...]:
    return _parts(name) if name in CUTS else tuple(sorted(set(cells), key=lambda cell: (len(cell), cell)))
