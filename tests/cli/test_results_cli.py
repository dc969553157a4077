"""`hammingbox results`, `compare` with several models, and going on with a stopped comparison, as a user calls them."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hammingbox import (
    ATTACKS,
    AnyOther,
    Checkpoint,
    Dataset,
    FullSpace,
    Goal,
    InputError,
    MaskedSpace,
    Target,
    ThreatModel,
)
from hammingbox.cli import console
from hammingbox.cli.app import app
from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.artefacts.export import records, row_records, runs_table
from hammingbox.report.artefacts.figures import success_figure
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store
from toys import ToyVictim, toy_rows, toy_schema
from toys.program import call_program as run
from toys.program import run_program


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
    assert "session from" in shown
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


def test_where_every_attack_refuses_nothing_is_made_up(folder: Path) -> None:
    refused = (
        "compare",
        "splice",
        folder / "one",
        folder / "two",
        "--attacks",
        "exhaustive",
        "--budgets",
        4,
        "--rows",
        4,
    )
    cells = json.loads(run(*refused, "--json"))
    assert [(cell["attack"], cell["budget"], cell["victim"]) for cell in cells] == [
        ("exhaustive", 4, str(folder / "one")), ("exhaustive", 4, str(folder / "two")),
    ]  # fmt: skip
    assert all("raise max_passes" in cell["refused"] for cell in cells)
    assert re.search(r"cnn \(one\) +none +-$", run(*refused), re.M), "no row was looked at: the clean error is unknown"


def test_victims_are_queried_at_the_largest_budget_and_the_page_is_built_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queried_at, built = [], []

    def query(_victim: object, _rows: object, threat: ThreatModel, *, goal: Goal) -> list[Finding]:
        queried_at.append((threat.budget, goal))
        return []

    def build(place: Path, *, queried: dict[str, object]) -> None:
        built.append((place, len(queried)))

    monkeypatch.setattr("hammingbox.report.comparison.diagnose_victim", query)
    monkeypatch.setattr("hammingbox.cli.compare.write_report", build)
    cells = json.loads(
        run("compare", "splice", folder / "one", folder / "two", "--attacks", "random", "--budgets", "0,2,1",
            "--rows", 2, "--out", tmp_path, "--json")
    )  # fmt: skip
    assert [cell["refused"] for cell in cells] == [None] * 6
    assert queried_at == [(2, AnyOther()), (2, AnyOther())]
    assert built == [(tmp_path, 2)]


def test_report_takes_the_file_and_speaks_once_of_a_victim_that_changed(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "one", tmp_path / "victim")
    run("compare", "splice", tmp_path / "victim", "--attacks", "random", "--budgets", "1-3", "--rows", 2,
        "--out", tmp_path / "out")  # fmt: skip
    page = tmp_path / "out" / "report.html"
    page.unlink()
    assert str(page) in run("report", tmp_path / "out" / "results.sqlite")
    assert page.is_file()
    shutil.copytree(folder / "two", tmp_path / "victim", dirs_exist_ok=True)
    done = CliRunner().invoke(app, ["report", str(tmp_path / "out"), "--diagnose"])
    assert done.exit_code == 0
    assert done.stderr.count("was trained again since") == 1
    assert str(tmp_path / "victim") in done.stderr


def test_names_with_brackets_and_long_paths_are_shown_as_they_are(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "lstm[seed=1]" / "a[/b]" / ("a long name" * 9) / "x.csv"
    assert f"written to {file}\n" in run("results", "export", folder / "out", "--out", file)
    shutil.copytree(folder / "one", tmp_path / "one[seed=1]")
    shutil.copytree(folder / "two", tmp_path / "two[bold]")
    out = run("compare", "splice", tmp_path / "one[seed=1]", tmp_path / "two[bold]", "--attacks", "random",
              "--budgets", 1, "--rows", 2, "--out", file.parent)  # fmt: skip
    for name in ("cnn (one[seed=1])", "cnn (two[bold])"):
        assert out.count(name) >= 2
    assert f"report: {file.parent / 'report.html'}\n" in out


def test_an_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=shown, width=40))
    console.fail("expected a file at runs/lstm[seed=1]/" + "x" * 60 + "/a[/b], got none.")
    assert shown.getvalue() == "error: expected a file at runs/lstm[seed=1]/" + "x" * 60 + "/a[/b], got none.\n"


def test_a_progress_bar_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=shown, width=120, force_terminal=True))
    with console.progress() as bars:
        bars.add_task("mlp on a[/b][seed=1].csv", total=1)
    assert "mlp on a[/b][seed=1].csv" in shown.getvalue()


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
    run("results", "export", folder / "out", "--format", "xlsx", "--out", tmp_path / "runs.xlsx")
    assert (tmp_path / "runs.xlsx").read_bytes().startswith(b"PK")
    with pytest.raises(InputError, match="expected csv or parquet for rows"):
        run("results", "export", folder / "out", "--what", "rows", "--format", "latex")


def test_unlike_runs_are_told_apart_and_not_averaged(tmp_path: Path) -> None:
    schema = toy_schema((3, 2, 5, 3, 4))
    victim = ToyVictim(schema.cardinalities)
    ids, labels = toy_rows(schema, victim, 30)
    data, masked = Dataset(schema, ids, labels, "toy"), MaskedSpace(schema, immutable=["f0", "f2"])
    with open_store(tmp_path, create=True) as store:
        for space, split, seed, goal, attack in (
            (FullSpace(schema), "test", 0, None, ATTACKS["random"]()),
            (FullSpace(schema), "test", 1, None, ATTACKS["random"]()),
            (FullSpace(schema), "test", 0, Target("class 1"), ATTACKS["random"]()),
            (FullSpace(schema), "test", 0, None, ATTACKS["random"](draws=2)),
            (FullSpace(schema), "train", 0, None, ATTACKS["random"]()),
            (masked, "test", 0, None, ATTACKS["random"]()),
        ):
            evaluate_into(
                store, Checkpoint(victim, "mlp", {}, schema), data, ThreatModel(space, 2), attack,
                name="random", place="runs/toy", split=split, seed=seed, goal=goal,
            )  # fmt: skip
        found = records(store, "runs")
        (rows,) = (list(row_records(run, schema, store.rows(run.id))) for run in store.runs()[:1])
    axes = success_figure(found).axes
    points = {axis.get_title(): [np.asarray(line.get_ydata()) for line in axis.get_lines()] for axis in axes}
    panel = "toy, test rows, mlp, standard\nevery category of every feature"
    assert list(points) == [
        panel,
        "toy, train rows, mlp, standard\nevery category of every feature",
        "toy, test rows, mlp, standard\nnever change f0, f2",
    ]
    rates = [100 * record["success_rate"] for record in found]
    assert [line[0] for line in points[panel]] == pytest.approx([sum(rates[:2]) / 2, rates[2], rates[3]])
    table = runs_table(found, "Results")
    assert table.headings[:7] == ("run", "data", "split", "model", "defence", "allowed changes", "attack")
    attacks = table.column("attack")
    usual = "random (draws=300)"
    assert attacks == [usual, usual, f"{usual} to class 1", "random (draws=2)", usual, usual]
    assert len({line[1:7] for line in table.rows}) == 5, "all but the seeds"
    plain = runs_table(found[:2], "Results")
    assert plain.headings[:5] == ("run", "data", "model", "defence", "attack")
    assert [row["row"] for row in rows] == list(range(30))
    assert [row["success"] for row in rows] == [row["label"] != row["prediction"] for row in rows]


def test_reproduce_plans_runs_and_goes_on(tmp_path: Path) -> None:
    plan = run("reproduce", "complexity", "attack-table", "--preset", "smoke", "--dry-run", "--out", tmp_path)
    assert "victim passes" in plan
    assert "train splice" in plan
    assert list(tmp_path.iterdir()) == [], "a plan leaves nothing behind"
    shown = run("reproduce", "complexity", "--preset", "smoke", "--out", tmp_path)
    assert "In 0 of 40 lines the count differs" in shown
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
    assert "runs: 40 verified" in run_program("verify", tmp_path), "random rows are drawn again by their seed"
