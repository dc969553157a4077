"""The program as a user calls it."""

import csv
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from rich.console import Console

from hammingbox.cli import console, main
from toys.program import PROGRAM
from toys.program import run_program as run


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("victim")
    facts = json.loads(run("train", "splice", "--model", "cnn", "--epochs", 2, "--out", folder, "--json"))
    assert facts["test_accuracy"] > 0.8
    return folder


def test_data_commands() -> None:
    assert "splice" in run("data", "list")
    facts = json.loads(run("data", "show", "splice", "--json"))
    assert sum(facts["rows"].values()) == 3190
    assert "EI" in run("data", "show", "splice")


def test_attack_and_verify(victim: Path, tmp_path: Path) -> None:
    out = run(
        "attack", "splice", "--victim", victim, "--attack", "pcaa", "--budget", 2, "--rows", 20, "--seed", 0,
        "--out", tmp_path, "--json", "--set", "steps=5",
    )  # fmt: skip
    facts = json.loads(out)
    assert {
        "attack", "budget", "rows", "correct", "success_rate", "robust_error", "mean_distance", "forward", "backward",
        "seconds",
    } <= facts.keys()  # fmt: skip
    assert (facts["attack"], facts["budget"], facts["rows"]) == ("pcaa", 2, 20)
    assert "steps=5" in facts["settings"]
    assert Path(facts["file"]) == tmp_path / "results.sqlite"
    checked = json.loads(run("verify", facts["file"], "--json"))
    assert checked["ok"]
    assert checked["claimed"] == round(facts["success_rate"] * facts["correct"])
    assert "verified" in run("verify", tmp_path)
    with sqlite3.connect(facts["file"]) as store:  # claim a row that was not broken
        store.execute(
            "UPDATE rows SET success = 1 WHERE number = (SELECT number FROM rows WHERE correct AND NOT success)"
        )
    store.close()
    assert "rejected" in run("verify", facts["file"], code=1)
    shown = run("attack", "splice", "--victim", victim, "--attack", "ga", "--target", "N", "--rows", 5, "--budget", 1)
    assert "success rate" in shown


def test_compare_writes_a_self_contained_report(victim: Path, tmp_path: Path) -> None:
    out = run(
        "compare", "splice", "--victim", victim, "--attacks", "ga,gga,exhaustive", "--budgets", "1,4", "--rows", 8,
        "--out", tmp_path,
    )  # fmt: skip
    assert re.search(r"^exhaustive( +\d+\.\d+){2} +-$", out, re.M), "run at budget 1, refused at budget 4"
    page = (tmp_path / "report.html").read_text()
    for outside in ("http://", "https://", "src=", "@import", "<link"):
        assert outside not in page.replace("http://www.w3.org", ""), f"{outside} in a page that must open from disk"
    runs = json.loads(run("results", "list", tmp_path, "--json"))
    cells = {(cell["attack"], cell["budget"]): cell for cell in runs}
    assert f">{100 * cells['ga', 1]['success_rate']:.1f}<" in page
    assert "right on" in page
    assert cells["exhaustive", 4]["rows"] == 0
    assert "raise max_passes" in cells["exhaustive", 4]["refused"]
    assert "raise max_passes" in page


def test_the_command_on_the_page_makes_the_same_runs(victim: Path, tmp_path: Path) -> None:
    run(
        "compare", "splice", "--victim", victim, "--attacks", "ga,random", "--budgets", "1,3", "--rows", 6, "--seed", 4,
        "--forbid", "base 1=A", "--immutable", "base 2", "--out", tmp_path,
    )  # fmt: skip
    run("attack", "splice", "--victim", victim, "--attack", "random", "--set", "draws=7", "--target", "N",
        "--budget", 2, "--rows", 6, "--out", tmp_path)  # fmt: skip
    before = json.loads(run("results", "list", tmp_path, "--json"))
    (tmp_path / "report.html").unlink()
    run("report", tmp_path, "--diagnose")
    page = (tmp_path / "report.html").read_text()
    block = re.search(r"<pre[^>]*>(.*?)</pre>", page, re.S)
    assert block is not None
    commands = unescape(block[1]).splitlines()
    assert len(commands) == 2
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "hammingbox"
        run(*arguments)
    assert json.loads(run("results", "list", tmp_path, "--json")) == before, "every row was there already"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["data", "show", "splise"], "got 'splise'. Did you mean 'splice'?"),
        (["train", "splice", "--model", "lsmt", "--out", "x"], "Did you mean 'lstm'?"),
        (["train", "splice", "--epochs", "0", "--out", "x"], "expected epochs above 0, got 0"),
        (["attack", "splice", "--victim", "nowhere"], "expected a checkpoint"),
        (["attack", "splice", "--victim", "VICTIM", "--attack", "pca"], "Did you mean 'pcaa'?"),
        (["attack", "splice", "--victim", "VICTIM", "--budget", "61"], "budget of 0..60 changed features, got 61"),
        (["attack", "splice", "--victim", "VICTIM", "--budget", "-1"], "expected a budget such as 3, got '-1'"),
        (["attack", "splice", "--victim", "VICTIM", "--rows", "100000"], "at most"),
        (["attack", "splice", "--victim", "VICTIM", "--attack", "pcaa", "--set", "stepz=3"], "Did you mean 'steps'?"),
        (["attack", "splice", "--victim", "VICTIM", "--attack", "pcaa", "--set", "steps=0"], "steps above 0, got 0"),
        (["attack", "splice", "--victim", "VICTIM", "--attack", "pcaa", "--set", "exact=1"], "setting of pcaa"),
        (["attack", "splice", "--victim", "VICTIM", "--forbid", "N"], "expected --forbid FEATURE=CATEGORY"),
        (["attack", "splice", "--victim", "VICTIM", "--forbid", "base 1=Q"], "got 'Q'"),
        (["attack", "splice", "--victim", "VICTIM", "--immutable", "base 99"], "got 'base 99'"),
        (["attack", "splice", "--victim", "VICTIM", "--target", "X"], "expected the name of a known class"),
        (["attack", "splice", "--victim", "VICTIM", "--split", "tests"], "Did you mean 'test'?"),
        (
            ["attack", "splice", "--victim", "VICTIM", "--attack", "exhaustive", "--budget", "4"],
            "raise max_passes to",
        ),
        (["attack", "splice", "--victim", "VICTIM", "--rows", "3", "--out", "/dev/null/x"], "expected to write"),
        (["compare", "splice", "--victim", "VICTIM", "--budgets", "one"], "expected budgets such as 1-5"),
        (["compare", "splice", "--victim", "VICTIM", "--attacks", "ga,nope"], "got 'nope'"),
        (["compare", "splice"], "expected at least one checkpoint, got none"),
        (["reproduce"], "or --all, got none"),
        (["reproduce", "atack-table"], "Did you mean 'attack-table'?"),
        (["reproduce", "zeta", "--preset", "gpu"], "expected the name of a known preset (cpu, paper, smoke)"),
        (["results", "list", "nowhere"], "expected a store of results"),
        (["results", "export", "nowhere", "--format", "cvs"], "Did you mean 'csv'?"),
        (["results", "export", "nowhere", "--what", "row"], "Did you mean 'rows'?"),
        (["verify", "missing.json"], "expected a readable file"),
        (["report", "nowhere"], "expected a store of results at nowhere/results.sqlite, got no such file"),
        (["attack", "splice"], "expected --victim CHECKPOINT or --model MODEL, got neither"),
        (["nonsense"], "No such command"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence_and_exit_code_2(
    arguments: list[str],
    sentence: str,
    victim: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The program's own entry, in this process: a new one for each mistake would import torch each time."""
    monkeypatch.setattr(sys, "argv", ["hammingbox", *(str(victim) if a == "VICTIM" else a for a in arguments)])
    monkeypatch.setattr(console, "err", Console(stderr=True, width=1000))
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err


def test_an_own_file_from_inspection_to_verification(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    lines = ["colour,size,shop,fraud"]
    lines += [f"{'rgb'[i % 3]},{i % 7},shop{i % 11},{'yes' if i % 3 == 0 and i % 7 < 3 else 'no'}" for i in range(600)]
    table.write_text("\n".join(lines) + "\n")
    schema = tmp_path / "schema.toml"
    shown = run("data", "inspect", table, "--label", "fraud", "--out", schema)
    assert "shop" in shown
    assert "600 rows" in shown
    before, shop = schema.read_text().split('name = "shop"')
    schema.write_text(before + 'name = "shop"' + shop.replace("immutable = false", "immutable = true"))
    own = ("--schema", schema)
    facts = json.loads(run("train", table, *own, "--epochs", 4, "--out", tmp_path / "model", "--json"))
    assert facts["model"] == "mlp"
    out = run(
        "compare", table, *own, "--victim", tmp_path / "model", "--rows", 30, "--budgets", "1-2", "--oracle",
        "--attacks", "ga,pcaa", "--positive", "yes", "--out", tmp_path, "--json",
    )  # fmt: skip
    cells = json.loads(out)
    for cell in cells:
        assert [(line["class"], line["rows"]) for line in cell["classes"]] == [("yes", 15), ("no", 15)]
        rare, common = cell["classes"]
        assert rare["population"] < common["population"] / 3, "one row in seven is a yes"
        weighted = sum(line["population"] * line["robust_error"] for line in cell["classes"])
        whole = rare["population"] + common["population"]
        assert cell["population_robust_error"]["value"] == pytest.approx(weighted / whole)
    page = (tmp_path / "report.html").read_text()
    assert "<strong>yes → no:</strong>" in page or "The model recognises none of 15 yes rows" in page
    assert f"--schema {schema}" in page, "the schema that was used, not any other"
    assert "--rows 30 --draw classes --positive yes" in page
    assert {cell["attack"] for cell in cells} == {"ga", "pcaa", "oracle"}
    assert all(0 <= cell["optimality_gap"] <= 1 for cell in cells)
    assert all(cell["optimality_gap"] == 0 for cell in cells if cell["budget"] == 1 and cell["attack"] != "pcaa")
    run("results", "export", tmp_path, "--what", "rows", "--out", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["attack"] == "oracle"]
    assert all(row["shop (before)"] == row["shop (after)"] for row in rows), "shop is immutable"
    changed = [sum(row[f"{name} (before)"] != row[f"{name} (after)"] for name in ("colour", "size")) for row in rows]
    assert changed == [int(row["distance"]) for row in rows]
    assert all(row["changes"].count("->") == count for row, count in zip(rows, changed, strict=True))
    run("results", "export", tmp_path, "--what", "classes", "--format", "csv", "--out", tmp_path / "classes.csv")
    with (tmp_path / "classes.csv").open(newline="") as file:
        assert {line["class"]: line["rows"] for line in csv.DictReader(file)} == {"yes": "15", "no": "15"}
    assert "verified" in run("verify", tmp_path)


def test_diagnose_and_synonyms(victim: Path) -> None:
    found = json.loads(run("diagnose", "splice", "--victim", victim, "--rows", 10, "--budgets", "1", "--json"))
    assert list(found) == ["findings"], "what findings look like is tested in test_findings.py"
    assert "may become" in run("synonyms", "looks")
    assert json.loads(run("synonyms", "not", "--json"))["kept"] == "a negation"


def test_a_mistake_in_a_process_of_its_own() -> None:
    done = subprocess.run([PROGRAM, "data", "show", "nope"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error: expected the name of a known data set" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version() -> None:
    assert "hammingbox 0." in run("--version")
    shown = run("--help")
    for command in ("data", "train", "attack", "compare", "results", "reproduce", "verify", "demo"):
        assert command in shown
