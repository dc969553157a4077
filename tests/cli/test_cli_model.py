"""`--model` as a user calls it: attack, compare, diagnose, report and verify with a model file and its table."""

import csv
import html
import json
import re
import shlex
from pathlib import Path

import pytest
import xgboost
from typer.testing import CliRunner, Result

from hammingbox import HammingboxError
from hammingbox.cli.app import app
from hammingbox.running.store import open_store
from victims.tables import Table, german_credit


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return german_credit(tmp_path_factory.mktemp("german"))


@pytest.fixture(scope="module")
def model(table: Table) -> Path:
    path = table.path.with_name("risk.ubj")
    coded = (table.labels == "good").astype(int)
    xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1).fit(table.categorised, coded).save_model(
        path
    )
    return path


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hammingbox.victims.libraries.xgboost_models.check_opens", lambda *_: None)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["--threads", "1", *map(str, arguments)])


def test_attack_verify_and_report_with_a_model_file(table: Table, model: Path, tmp_path: Path) -> None:
    where = (table.path, "--label", "risk", "--model", model)
    done = run("attack", *where, "--attack", "ga", "--budget", 1, "--rows", 20, "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["attacked"] > 5
    assert run("verify", tmp_path / "out").exit_code == 0
    assert run("report", tmp_path / "out", "--diagnose").exit_code == 0
    moved = model.rename(model.with_name("moved.ubj"))
    try:
        assert run("verify", tmp_path / "out").exit_code == 1
        assert run("verify", tmp_path / "out", "--model", moved).exit_code == 0
    finally:
        moved.rename(model)
    coded = (table.labels == "good").astype(int)
    other = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1).fit(table.categorised, coded)
    other.save_model(tmp_path / "other.ubj")
    rejected = run("verify", tmp_path / "out", "--model", tmp_path / "other.ubj")
    assert rejected.exit_code == 1
    assert "another hash" in rejected.output


def test_compare_and_diagnose_with_a_model_file(table: Table, model: Path, tmp_path: Path) -> None:
    where = (table.path, "--label", "risk", "--model", model)
    done = run("compare", *where, "--attacks", "pcaa,random", "--budgets", "1", "--rows", 8, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report.html").is_file()
    found = run("diagnose", *where, "--rows", 6, "--budgets", "1", "--json")
    assert found.exit_code == 0, found.output
    checks = {finding["check"] for finding in json.loads(found.stdout.splitlines()[-1])["findings"]}
    assert "how the model is asked" in checks


def test_runs_of_a_model_with_a_name_are_verified_and_repeated(table: Table, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--label", "risk", "--rows-per-class", 6, "--budgets", 1, "--what-if", 0, "--out", out)
    done = run("audit", table.path, "--model", model, "--model-name", "risk, 3 May", *options)
    assert done.exit_code == 0, done.output
    checked = run("verify", out)
    assert checked.exit_code == 0, checked.output
    assert run("report", out, "--diagnose").exit_code == 0
    with open_store(out, readonly=True) as store:
        before = [(one.key, one.rows) for one in store.runs()]
    (line,) = re.findall(r'aria-label="Commands">(.*?)</pre>', (out / "report.html").read_text())
    words = shlex.split(html.unescape(line))
    assert words[words.index("--model-name") + 1] == "risk, 3 May"
    again = run(*words[1:])
    assert again.exit_code == 0, again.output
    with open_store(out, readonly=True) as store:
        assert [(one.key, one.rows) for one in store.runs()] == before
    moved = model.rename(model.with_name("moved.ubj"))
    try:
        assert run("verify", out, "--model", moved).exit_code == 0
    finally:
        moved.rename(model)
    other = tmp_path / "other.ubj"
    coded = (table.labels == "good").astype(int)
    xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1).fit(table.categorised, coded).save_model(
        other
    )
    assert run("verify", out, "--model", other).exit_code == 1, "its name is no proof: its answers are compared"


def test_a_named_model_is_compared_with_its_own_runs_alone(table: Table, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ubj"
    coded = (table.labels == "good").astype(int)
    xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1).fit(table.categorised, coded).save_model(
        other
    )
    where = (table.path, "--label", "risk", "--attacks", "random", "--budgets", 1, "--rows", 8)
    done = run("compare", *where, "--model", model, "--model", other, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    moved = other.rename(tmp_path / "moved.ubj")
    checked = run("verify", tmp_path / "out", "--model", moved)
    assert checked.exit_code == 0, checked.output
    assert run("verify", tmp_path / "out", "--model", model).exit_code == 1, "the other model is not where it was"
    assert run("results", "export", tmp_path / "out", "--what", "rows", "--out", tmp_path / "rows.csv").exit_code == 0
    with (tmp_path / "rows.csv").open() as file:
        assert {Path(row["victim"]).name for row in csv.DictReader(file)} == {model.name, "other.ubj"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "expected --victim CHECKPOINT or --model MODEL, got neither"),
        (("--model", "a.ubj", "--victim", "b"), "got both"),
        (("--model", "nothing.ubj"), "got nothing there"),
        (("--model", "model.pkl"), "holds no code"),
    ],
)
def test_bad_models_are_one_sentence(
    options: tuple[str, ...], message: str, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.pkl").write_bytes(b"\x80\x04.")
    done = run("attack", table.path, "--label", "risk", "--out", tmp_path / "out", *options)
    assert isinstance(done.exception, HammingboxError)  # `main` prints its message and exits with 2
    assert message in str(done.exception)
    assert not (tmp_path / "out").exists()
