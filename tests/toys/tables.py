"""Small tables that tests of the table loaders share."""

import csv
import gzip
from pathlib import Path

import numpy as np

NAMES = ["colour", "size", "weight", "bought"]


def fruit(rows: int = 200) -> list[list[str]]:
    """Rows of a colour, a size that may be missing, a weight with two decimals, and a label."""
    random = np.random.default_rng(0)
    return [
        [
            ["red", "green", "blue"][int(random.integers(3))],
            ["1", "2", "10", ""][int(random.integers(4))],
            f"{random.normal(50, 10):.2f}",
            ["no", "yes"][int(random.integers(2))],
        ]
        for _ in range(rows)
    ]


def write_csv(path: Path, rows: list[list[str]], names: list[str] = NAMES, delimiter: str = ",") -> Path:
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([names, *rows])
    return path
