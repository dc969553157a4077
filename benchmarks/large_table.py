"""Measures a run over every row of a large table: memory, time, store and report, for two sizes of the same table.

A table of 20 mixed columns is generated from a seed, a small net is trained on 20,000 of its rows, and every row is
attacked by `gga` at budget 1 with the command that a user gives. Each command is a process of its own; its peak memory
and CPU time are what the system says about it, mapped files included.

    python benchmarks/large_table.py --rows 100000,1000000

`--store-rows 10000000` also copies the records of the first run under new numbers until its store holds that many, and
measures listing, reporting and exporting them.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from hammingbox import open_store
from hammingbox.running.store import FILE
from hammingbox.running.store.seals import rows_of

CATEGORIES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 26, 40)
GROUP = 50_000
"""Rows of a row group of the table."""
TRAINED = 20_000
MEMORY, TIME, REPORT, PAGE = 1.3, 15.0, 60.0, 5.0
"""Limits: memory ratio of the larger run, deviation of CPU time per row in per cent, seconds and MB of the report."""


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds of CPU, and MB of memory at most."""

    cpu: float
    memory: float


def generate(rows: int, path: Path, seed: int = 0) -> None:
    """Writes the table row group by row group: 12 columns of categories, 8 of numbers, and a label."""
    import pyarrow
    from pyarrow import parquet

    writer = None
    for part, begin in enumerate(range(0, rows, GROUP)):
        count, rng = min(GROUP, rows - begin), np.random.default_rng([seed, part])
        columns = {
            f"category_{size}": np.array([f"c{i}" for i in range(size)])[rng.integers(0, size, count)]
            for size in CATEGORIES
        }
        columns |= {
            "age": rng.integers(18, 95, count),
            "amount": np.round(rng.lognormal(6, 1, count)).astype(np.int64),
            "months": rng.integers(0, 480, count),
            "balance": (10 * np.round(rng.normal(200, 150, count))).astype(np.int64),
            "score": np.round(rng.random(count), 3),
            "visits": rng.poisson(4, count),
            "year": rng.integers(2000, 2026, count),
            "hour": np.round(24 * rng.random(count), 1),
        }
        merit = (columns["category_5"] == "c1") + 1.5 * (columns["category_12"] == "c3") + (columns["age"] - 50) / 30
        merit = merit + np.log1p(columns["amount"]) - 6 + rng.normal(0, 0.7, count)
        table = pyarrow.table(columns | {"label": np.where(merit > 0.4, "bad", "good")})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def train(table: Path, folder: Path) -> None:
    """Trains a small net on a few rows of the table, under the schema of all its rows."""
    from hammingbox.data.registry import source_named
    from hammingbox.training.standard_job import train_standard

    source = source_named(str(table), label="label")
    splits = source.load()
    few = replace(splits, train=splits.train.take(slice(0, TRAINED)), validation=splits.validation.take(slice(0, 2000)))
    few = replace(few, test=splits.test.take(slice(0, 2000)))
    train_standard(few, source, folder, data=str(table), model="mlp", settings={"epochs": 3})


def measured(*command: object) -> Cost:
    """Runs a command of the package in a process of its own."""
    words = [sys.executable, "-m", "hammingbox", "--threads", "1", *map(str, command)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20))


def run(rows: int, folder: Path) -> tuple[Cost, Cost, Cost]:
    """Generates, trains, attacks, reports and lists."""
    table, victim, out = folder / f"{rows}.parquet", folder / f"{rows}-net", folder / f"{rows}-results"
    if not table.exists():
        generate(rows, table)
    if not victim.exists():
        subprocess.run([sys.executable, __file__, "--train", str(table), str(victim)], check=True)
    attacked = measured(
        "attack", table, "--label", "label", "--victim", victim, "--attack", "gga", "--budget", 1, "--split", "all",
        "--rows", "all", "--out", out,
    )  # fmt: skip
    reported, listed = measured("report", out), measured("results", "list", out)
    store, page = out / "results.sqlite", out / "report.html"
    print(
        f"| {rows:,} | {attacked.memory:.0f} | {attacked.cpu:.0f} | {1e5 * attacked.cpu / rows:.1f} | "
        f"{store.stat().st_size / 1e6:.0f} | {reported.cpu:.1f} | {reported.memory:.0f} | "
        f"{page.stat().st_size / 1e6:.1f} | {listed.cpu:.1f} |",
        flush=True,
    )
    return attacked, reported, listed


def grow(results: Path, rows: int) -> None:
    """Copies the records of the only run under new numbers, until there are `rows`.

    SQLite copies them, so their checksums are not made again. The last one is written by the store, which adds up what
    it holds then.
    """
    with open_store(results) as store:
        (run,) = store.runs()
        schema, last = store.schema(run), replace(store.rows(run.id, most=1), numbers=torch.tensor([rows - 1]))
    with closing(sqlite3.connect(results / FILE)) as connection:
        names = [name for _, name, *_ in connection.execute("PRAGMA table_info(rows)") if name not in ("run", "number")]
        columns = ", ".join(names)
        for begin in range(run.rows, rows, run.rows):
            connection.execute(
                f"INSERT INTO rows (run, number, {columns}) SELECT run, number + ?, {columns} FROM rows "
                "WHERE number < ? ORDER BY number",
                (begin, min(run.rows, rows - 1 - begin)),
            )
            connection.commit()
        connection.execute("UPDATE seals SET records = ? WHERE name = ?", (rows - 1, rows_of(run.id)))
        connection.execute("DELETE FROM totals")
        connection.commit()
    with open_store(results) as store:
        store.add(run.id, store.begin_session(run.id, {}), last, schema, 0.0)


def large_store(rows: int, made_of: int, folder: Path) -> None:
    """Measures what is done with a store of many rows."""
    out = folder / f"{rows}-store"
    if not out.exists():
        part = folder / f"{rows}-store.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        shutil.copy(folder / f"{made_of}-results" / "results.sqlite", part)
        grow(part, rows)
        part.rename(out)
    print(f"\nstore of {rows:,} rows, {(out / 'results.sqlite').stat().st_size / 1e9:.1f} GB")
    print("| command | CPU, s | memory, MB |\n|---|---|---|")
    export = (
        "results",
        "export",
        out,
        "--what",
        "rows",
        "--format",
        "parquet",
        "--partitioned",
        "--out",
        out / "parts",
    )
    for name, command in (
        ("results list", ("results", "list", out)),
        ("report", ("report", out)),
        ("results show 1", ("results", "show", out, 1)),
        ("results export --partitioned", export),
    ):
        cost = measured(*command)
        print(f"| {name} | {cost.cpu:.0f} | {cost.memory:.0f} |", flush=True)
    print(f"page: {(out / 'report.html').stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", default="100000,1000000", help="Sizes of the table, separated by commas.")
    parser.add_argument("--store-rows", type=int, default=0, help="Rows of a store made of copies.")
    parser.add_argument("--folder", type=Path, help="Keep everything here; a second run goes on from it.")
    parser.add_argument("--train", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train(*options.train)
        return
    sizes = [int(size) for size in options.rows.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print("| rows | memory, MB | CPU, s | CPU per 100,000 rows, s | store, MB | report, CPU s | report memory, MB "
              "| page, MB | list, CPU s |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
        found = [run(size, folder) for size in sizes]
        if len(found) > 1:
            verdict(sizes, [attacked for attacked, _, _ in found], found[-1][1], found[0][2].cpu, folder)
        if options.store_rows:
            large_store(options.store_rows, sizes[0], folder)


def verdict(sizes: Sequence[int], attacked: Sequence[Cost], reported: Cost, start: float, folder: Path) -> None:
    """Compares the largest table with the smallest, without the CPU time of a command that does little (`start`)."""
    memory = attacked[-1].memory / attacked[0].memory
    per_row = [(cost.cpu - start) / size for cost, size in zip(attacked, sizes, strict=True)]
    off = 100 * (per_row[-1] / per_row[0] - 1)
    page = (folder / f"{sizes[-1]}-results" / "report.html").stat().st_size / 1e6
    kept = memory <= MEMORY and abs(off) <= TIME and reported.cpu <= REPORT and page <= PAGE
    print(
        f"memory {memory:.2f} times (at most {MEMORY}), CPU per row after the start {off:+.1f} % (at most {TIME:.0f} % "
        f"off), report {reported.cpu:.0f} s (at most {REPORT:.0f}), "
        f"page {page:.1f} MB (at most {PAGE:.0f}): {'kept' if kept else 'broken'}"
    )


if __name__ == "__main__":
    main()
