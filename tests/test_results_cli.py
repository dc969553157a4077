"""`hammingbox results`, `compare` with several models, and going on with a stopped comparison, as a user calls them."""

import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hammingbox.cli.app import app
from hammingbox.errors import InputError


def run(*arguments: object) -> str:
    """The program in this process: a new one for each command would import torch each time."""
    done = CliRunner().invoke(app, ["--threads", "1", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models compared on the same rows."""
    folder = tmp_path_factory.mktemp("two models")
    for seed, name in enumerate(("one", "two")):
        run("train", "splice", "--model", "cnn", "--epochs", 1 + seed, "--seed", seed, "--out", folder / name)
    out = compare(folder, 12)
    assert "error in % of all rows" in out
    assert re.search(r"cnn \(one\)\s+none", out)
    assert re.search(r"cnn \(two\)\s+none", out)
    return folder


def compare(folder: Path, rows: int) -> str:
    return run(
        "compare", "splice", folder / "one", folder / "two", "--attacks", "ga,swap", "--budgets", "1-2",
        "--rows", rows, "--out", folder / "out",
    )  # fmt: skip


def test_list_and_show(folder: Path) -> None:
    runs = json.loads(run("results", "list", folder / "out", "--json"))
    assert len(runs) == 2 * 2 * 2
    assert {r["victim"] for r in runs} == {str(folder / "one"), str(folder / "two")}
    assert all(r["rows"] == 12 for r in runs)
    assert all(r["robust_error"] >= r["clean_error"] for r in runs)
    assert "swap" in run("results", "list", folder / "out")
    best = max(runs, key=lambda r: r["success"])
    shown = run("results", "show", folder / "out", best["run"])
    assert "sitting from" in shown
    assert "->" in shown
    facts = json.loads(run("results", "show", folder / "out", best["run"], "--json"))
    assert facts["sessions"][0]["environment"]["threads"] == 1
    assert len(facts["examples"]) == min(3, best["success"])


def test_a_second_comparison_attacks_only_new_rows(folder: Path) -> None:
    before = {r["run"]: r["seconds"] for r in json.loads(run("results", "list", folder / "out", "--json"))}
    compare(folder, 12)
    same = {r["run"]: r["seconds"] for r in json.loads(run("results", "list", folder / "out", "--json"))}
    assert same == before, "nothing was attacked again"
    for name in ("one", "two"):
        assert f">{name} (cnn)<" in (folder / "out" / "report.html").read_text()


def test_export_in_every_format(folder: Path, tmp_path: Path) -> None:
    listed = json.loads(run("results", "list", folder / "out", "--json"))
    lines = list(csv.DictReader(io.StringIO(run("results", "export", folder / "out"))))
    assert [int(line["success"]) for line in lines] == [r["success"] for r in listed]
    run("results", "export", folder / "out", "--format", "parquet", "--what", "rows", "--out", tmp_path / "r.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert len(table) == sum(r["rows"] for r in listed)
    assert all(
        sum(a != b for a, b in zip(row["clean"], row["adversarial"], strict=True)) == row["distance"] for row in table
    )
    markdown = run("results", "export", folder / "out", "--format", "markdown")
    assert markdown.count("\n| ") == 2 + len(listed)
    latex = run("results", "export", folder / "out", "--format", "latex")
    assert r"\toprule" in latex
    assert latex.count(r"\\") == 1 + len(listed)
    svg = run("results", "export", folder / "out", "--format", "svg")
    assert svg.count("splice, cnn, standard") == 2
    for attack in ("ga", "swap"):
        assert f">{attack}<" in svg
    run("results", "export", folder / "out", "--format", "pdf", "--out", tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match="expected csv or parquet for rows"):
        run("results", "export", folder / "out", "--what", "rows", "--format", "latex")


def test_reproduce_plans_runs_and_goes_on(tmp_path: Path) -> None:
    plan = run("reproduce", "complexity", "attack-table", "--preset", "smoke", "--dry-run", "--out", tmp_path)
    assert "victim passes" in plan
    assert "train splice" in plan
    assert list(tmp_path.iterdir()) == [], "a plan leaves nothing behind"
    shown = run("reproduce", "complexity", "--preset", "smoke", "--out", tmp_path)
    assert "In 0 of 15 lines the count differs" in shown
    runs = json.loads(run("results", "list", tmp_path, "--json"))
    assert len(runs) == 40
    assert (tmp_path / "complexity" / "growth.pdf").is_file()
    assert r"\toprule" in (tmp_path / "complexity" / "table-1.tex").read_text()
    records = json.loads((tmp_path / "complexity" / "records.json").read_text())
    assert sorted(r["success"] for r in records["runs"]) == sorted(r["success"] for r in runs)
    assert f"sha256 without times `{records['sha256']}`" in (tmp_path / "complexity" / "README.md").read_text()
    elsewhere = tmp_path / "elsewhere"
    run("reproduce", "complexity", "--preset", "smoke", "--out", elsewhere)
    other = json.loads((elsewhere / "complexity" / "records.json").read_text())
    assert other["sha256"] == records["sha256"], "the hash is of what was found, not of when and where"
    assert [r["seconds"] for r in other["runs"]] != [r["seconds"] for r in records["runs"]]
    run("reproduce", "complexity", "--preset", "smoke", "--out", tmp_path)
    again = json.loads(run("results", "list", tmp_path, "--json"))
    assert [r["seconds"] for r in again] == [r["seconds"] for r in runs]
    assert "verified" in run("verify", tmp_path)
