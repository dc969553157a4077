"""Tables beyond memory, as a user calls the program: the same records, verified, reported and exported."""

import csv
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

from hammingbox import InputError
from hammingbox.running.store import FILE, open_store
from toys.program import call_program as run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 400 rows, and a net."""
    folder = tmp_path_factory.mktemp("large table")
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 40, 400)
    columns = {
        "colour": rng.choice(["red", "green", "blue"], 400),
        "weight": weight,
        "price": np.round(rng.normal(3, 1, 400), 1),
        "shop": rng.choice(list("abcdef"), 400),
        "good": np.where(weight + rng.normal(0, 5, 400) > 20, "yes", "no"),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "table.parquet", row_group_size=90)
    run("train", folder / "table.parquet", "--label", "good", "--model", "mlp", "--epochs", 3, "--out", folder / "net")
    return folder


def as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("data.columns", "data.dataset"):
        monkeypatch.setattr(f"hammingbox.{place}.MAPPED_CELLS", 60)
    for place in ("large_results", "page.folder", "comparison", "recorded_plausibility"):
        monkeypatch.setattr(f"hammingbox.report.{place}.LARGE", 100)
    monkeypatch.setattr("hammingbox.report.large_results._BLOCK", 90)
    monkeypatch.setattr("hammingbox.running.resume_checks.BLOCK_ROWS", 64)


def command(folder: Path, *words: object) -> tuple[object, ...]:
    first, *rest = words
    return first, folder / "table.parquet", "--label", "good", "--victim", folder / "net", *rest


def records(place: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(place / FILE)
    found = connection.execute("SELECT * FROM rows ORDER BY run, number").fetchall()
    connection.close()
    return found


def test_both_ways_record_the_same_bytes(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attacks = ("--attack", "gga", "--budget", 1, "--split", "all", "--rows", "all", "--batch-size", 64)
    small = run(*command(folder, "attack", *attacks, "--out", tmp_path / "small"))
    budgets = ("--attacks", "gga,ga", "--budgets", "1,2", "--split", "all", "--rows", "all", "--batch-size", 64)
    compared = run(*command(folder, "compare", *budgets, "--out", tmp_path / "small"))
    as_large(monkeypatch)
    assert len(records(tmp_path / "small")) == 1600
    large = run(*command(folder, "attack", *attacks, "--out", tmp_path / "large"))
    assert [line for line in large.splitlines() if "time" not in line and "written" not in line] == [
        line for line in small.splitlines() if "time" not in line and "written" not in line
    ]
    again = run(*command(folder, "compare", *budgets, "--out", tmp_path / "large"))
    assert records(tmp_path / "small") == records(tmp_path / "large")
    run(*command(folder, "attack", *attacks, "--workers", 2, "--out", tmp_path / "two"))
    assert records(tmp_path / "two") == records(tmp_path / "small")[:400]
    assert again.count("worst case") == compared.count("worst case")
    out = run("verify", tmp_path / "large")
    assert "verified" in out
    listed = run("results", "list", tmp_path / "large", "--json")
    assert listed.count('"rows": 400') == 4
    assert "of 1,600" in (tmp_path / "large" / "report.html").read_text()


def test_a_table_that_is_attacked_in_parts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_large(monkeypatch)
    attacks = ("--attack", "ga", "--budget", 1, "--split", "test")
    run(*command(folder, "attack", *attacks, "--rows", 20, "--draw", "first", "--out", tmp_path))
    with open_store(tmp_path, readonly=True) as store:
        assert store.run(1).rows == 20
    run(*command(folder, "attack", *attacks, "--rows", "all", "--out", tmp_path))
    with open_store(tmp_path, readonly=True) as store:
        assert len(store.runs()) == 1
        assert store.run(1).rows == 80


def test_an_audit_of_all_rows(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_large(monkeypatch)
    options = ("--rows-per-class", "all", "--budgets", 1, "--attacks", "ga", "--what-if", 1)
    out = run(*command(folder, "audit", *options, "--out", tmp_path))
    assert "frozen" in out
    page = (tmp_path / "report.html").read_text()
    assert "all rows" in page
    assert "--rows-per-class all" in page  # the command that repeats the audit
    with open_store(tmp_path, readonly=True) as store:
        assert store.run(1).rows == 400


def test_partitions_for_other_engines(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_large(monkeypatch)
    monkeypatch.setattr("hammingbox.report.artefacts.row_export._FILE_ROWS", 100)
    out, parts = tmp_path / "out", tmp_path / "parts"
    run(*command(folder, "compare", "--attacks", "gga,ga", "--budgets", "1,2", "--rows", 80, "--out", out))
    rows = ("results", "export", out, "--what", "rows")
    told = run(*rows, "--format", "parquet", "--partitioned", "--out", parts)
    assert "320 rows written" in told
    names = sorted(str(path.relative_to(parts)) for path in parts.rglob("*.parquet"))
    assert names[0] == "attack=ga/budget=1/run=3/part-00000.parquet"
    found = pyarrow.dataset.dataset(parts, partitioning="hive").to_table().to_pylist()
    run(*rows, "--format", "parquet", "--out", tmp_path / "rows.parquet")
    whole = pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    run(*rows, "--format", "csv", "--out", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(whole[0])
    assert [{name: str(value) for name, value in row.items()} for row in whole] == [
        {name: text.removeprefix("'") for name, text in line.items()} for line in lines
    ]

    def key(row: dict[str, Any]) -> tuple[int, int]:
        return row["run"], row["row"]

    assert [{name: row[name] for name in whole[0]} for row in sorted(found, key=key)] == sorted(whole, key=key)
    with pytest.raises(InputError, match="expected a new folder"):
        run(*rows, "--format", "parquet", "--partitioned", "--out", parts)
    with pytest.raises(InputError, match="--partitioned with --what rows"):
        run("results", "export", out, "--format", "parquet", "--partitioned", "--out", tmp_path / "more")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows", "all", "--draw", "random"), "with --rows all"),
        (("--rows", "all", "--rows-per-class", "3"), "got both"),
        (("--draw", "all"), "expected no number of rows"),
    ],
)
def test_all_rows_and_something_else(words: tuple[str, ...], said: str, folder: Path) -> None:
    with pytest.raises(InputError, match=said):
        run(*command(folder, "attack", *words))


@pytest.mark.parametrize("rows", ["0", "some", "1.5", "999999999999"])
def test_other_numbers_of_rows(rows: str, folder: Path) -> None:
    run(*command(folder, "attack", "--rows", rows), code=2)
