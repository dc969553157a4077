"""`hammingbox results`, `compare` with several models, and going on with a stopped comparison, as a user calls them."""

import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hammingbox import ATTACKS, Checkpoint, Dataset, FullSpace, InputError, MaskedSpace, ThreatModel
from hammingbox.cli.app import app
from hammingbox.report.export import records, row_records, runs_table
from hammingbox.report.paper_figures import success_figure
from hammingbox.store import Store, evaluate_into
from toys import ToyVictim, toy_rows, toy_schema


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


def test_unlike_runs_are_told_apart_and_not_averaged(tmp_path: Path) -> None:
    schema = toy_schema((3, 2, 5, 3, 4))
    victim = ToyVictim(schema.cardinalities)
    ids, labels = toy_rows(schema, victim, 30)
    data, masked = Dataset(schema, ids, labels, "toy"), MaskedSpace(schema, immutable=["f0", "f2"])
    with Store.open(tmp_path, create=True) as store:
        for space, split, options, attack in (
            (FullSpace(schema), "test", {}, ATTACKS["random"]()),
            (FullSpace(schema), "test", {"seed": 1}, ATTACKS["random"]()),
            (FullSpace(schema), "test", {"target": 1}, ATTACKS["random"]()),
            (FullSpace(schema), "test", {}, ATTACKS["random"](draws=2)),
            (FullSpace(schema), "train", {}, ATTACKS["random"]()),
            (masked, "test", {}, ATTACKS["random"]()),
        ):
            evaluate_into(
                store, Checkpoint(victim, "mlp", {}, schema), data, ThreatModel(space, 2), attack,
                name="random", victim="runs/toy", split=split, **options,
            )  # fmt: skip
        found = records(store, "runs")
        (rows,) = (list(row_records(run, schema, store.rows(run.id))) for run in store.runs()[:1])
    axes = success_figure(found).axes
    points = {axis.get_title(): [line.get_ydata() for line in axis.get_lines()] for axis in axes}
    panel = "toy, test rows, mlp, standard\nevery category of every feature"
    assert list(points) == [
        panel,
        "toy, train rows, mlp, standard\nevery category of every feature",
        "toy, test rows, mlp, standard\nnever change f0, f2",
    ]
    rates = [100 * record["success_rate"] for record in found]
    assert [line[0] for line in points[panel]] == pytest.approx([sum(rates[:2]) / 2, rates[2], rates[3]])
    table = runs_table(found, "Results")
    assert table.columns[: table.text_columns] == (
        "run",
        "data",
        "split",
        "model",
        "defence",
        "allowed changes",
        "attack",
    )
    attacks = [line[table.columns.index("attack")] for line in table.rows]
    usual = "random (draws=300)"
    assert attacks == [usual, usual, f"{usual} to class 1", "random (draws=2)", usual, usual]
    assert len({line[1:7] for line in table.rows}) == 5, "all but the seeds"
    plain = runs_table(found[:2], "Results")
    assert plain.columns[: plain.text_columns] == ("run", "data", "model", "defence", "attack")
    assert [row["row"] for row in rows] == list(range(30))
    assert [row["success"] for row in rows] == [row["label"] != row["prediction"] for row in rows]


def test_reproduce_plans_runs_and_goes_on(tmp_path: Path) -> None:
    plan = run("reproduce", "complexity", "attack-table", "--preset", "smoke", "--dry-run", "--out", tmp_path)
    assert "victim passes" in plan
    assert "train splice" in plan
    assert json.loads(run("results", "list", tmp_path, "--json")) == []
    shown = run("reproduce", "complexity", "--preset", "smoke", "--out", tmp_path)
    assert "In 0 of 15 lines the count differs" in shown
    runs = json.loads(run("results", "list", tmp_path, "--json"))
    assert len(runs) == 40
    assert (tmp_path / "complexity" / "growth.pdf").is_file()
    assert r"\toprule" in (tmp_path / "complexity" / "table-1.tex").read_text()
    run("reproduce", "complexity", "--preset", "smoke", "--out", tmp_path)
    again = json.loads(run("results", "list", tmp_path, "--json"))
    assert [r["seconds"] for r in again] == [r["seconds"] for r in runs]
    assert "verified" in run("verify", tmp_path)
