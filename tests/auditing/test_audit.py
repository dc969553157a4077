"""An audit of a real table and a real model: every class, the truth at small budgets, a store that verifies."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
import xgboost
from matplotlib import pyplot

import hammingbox as hb
from hammingbox import Audit, InputError
from hammingbox.running.store import FILE
from hammingbox.running.verify_store import verify_store
from toys.program import call_program
from victims.tables import Table, german_credit

FROZEN = ("duration", "amount", "age", "history", "purpose", "savings", "employment", "property", "job", "plans")
"""Columns that tests freeze, so that enumeration at budget 2 is quick."""


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return german_credit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def model(german: Table) -> Path:
    """A model file as a colleague left it."""
    found = xgboost.XGBClassifier(n_estimators=12, max_depth=3, enable_categorical=True, n_jobs=1)
    found.fit(german.categorised, (german.labels == "good").astype(int))
    path = german.path.with_name("model.ubj")
    found.save_model(path)
    return path


@pytest.fixture(scope="module")
def found(german: Table, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return hb.audit(
        model, german.path, label="risk", positive="bad", budgets=[1, 2], rows_per_class=25, immutable=FROZEN,
        attacks=["auto", "oracle"], folder=tmp_path_factory.mktemp("found"),
    )  # fmt: skip


def test_every_class_has_its_rows_and_its_rate(found: Audit) -> None:
    for rates in found.classes.values():
        assert [line.name for line in rates.lines] == ["bad", "good"], "the positive class comes first"
        assert [line.rows for line in rates.lines] == [25, 25]
        assert [line.population for line in rates.lines] == [300, 700]
    assert found.headline.startswith("bad -> good: ")
    assert "at budget 1" in found.headline
    assert "at budget 2" in found.headline


def test_the_verdicts_are_those_of_enumeration(found: Audit) -> None:
    for budget in (1, 2):
        auto, oracle = (found.rows(budget, attack=name) for name in ("auto", "oracle"))
        assert (auto.index == oracle.index).all()
        assert ((auto["status"] == "broken") == (oracle["status"] == "broken")).all()


def test_rows_are_rows_of_the_table_and_keep_what_is_frozen(found: Audit, german: Table, model: Path) -> None:
    clean, after, outcome = (found.rows(2, contents) for contents in ("clean", "adversarial", "outcome"))
    assert (clean[list(FROZEN)] == after[list(FROZEN)]).all(axis=None)
    original = german.frame.loc[clean.index]
    assert (original["amount"] == clean["amount"].astype(int)).all()
    assert (original["status"] == clean["status"]).all()
    assert (original["risk"] == outcome["label"]).all()
    broken = after[outcome["status"] == "broken"]
    booster = xgboost.XGBClassifier()
    booster.load_model(model)
    typed = broken.astype({name: german.features[name].dtype for name in broken})
    for name in typed.select_dtypes(exclude="number"):
        typed[name] = pd.Categorical(typed[name], categories=german.categorised[name].cat.categories)
    answers = np.array(["bad", "good"])[booster.predict(typed)]
    assert (answers == outcome.loc[broken.index, "after"]).all(), "the model itself is fooled by these rows"


def test_an_audit_shows_itself(found: Audit, tmp_path: Path) -> None:
    frame = found.to_frame()
    assert frame[["budget", "class"]].to_numpy().tolist() == [[1, "bad"], [1, "good"], [2, "bad"], [2, "good"]]
    bad = found.classes[2].lines[0]
    assert frame.loc[2, "success_rate"] == bad.success.value
    page = found._repr_html_()
    assert ">bad (positive)</td>" in page
    assert f"{100 * bad.success.value:.1f} %" in page
    assert "Balanced accuracy" in page
    assert len(repr(found)) < 300
    axes = found.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["bad", "good"]
    pyplot.close("all")
    written = found.report(tmp_path / "report.html")
    assert "<html" in written.read_text()
    assert (found.folder / "report.html").is_file()


def test_the_store_of_an_audit_verifies(found: Audit) -> None:
    checked = verify_store(found.folder)
    assert checked.ok, checked.problems
    assert checked.claimed > 0


def test_an_unknown_run_is_named(found: Audit) -> None:
    with pytest.raises(InputError, match="expected a budget of this audit"):
        found.rows(7)
    with pytest.raises(InputError, match="Did you mean 'auto'"):
        found.rows(1, attack="atuo")


def test_a_frame_and_a_model_object_are_audited_in_one_line(german: Table, model: Path, found: Audit) -> None:
    booster = xgboost.XGBClassifier()
    booster.load_model(model)
    frame = german.categorised.assign(risk=german.labels)
    again = hb.audit(booster, frame, label="risk", positive="bad", budgets=[1], rows_per_class=25, immutable=FROZEN)
    assert [line.to_json() for line in again.classes[1].lines] == [line.to_json() for line in found.classes[1].lines]
    assert again.report().is_file()


@pytest.mark.parametrize("kind", ["texts", "polars", "a file"])
def test_frames_as_they_were_read_fit_a_model_that_knows_its_types(
    kind: str, german: Table, model: Path, found: Audit
) -> None:
    """Texts where the model was trained on categories: its own types count, not those of the table."""
    booster = xgboost.XGBClassifier()
    booster.load_model(model)
    frame: Any = polars.from_pandas(german.frame) if kind == "polars" else german.frame
    again = hb.audit(
        model if kind == "a file" else booster, frame, label="risk", positive="bad", budgets=[1], rows_per_class=25,
        immutable=FROZEN, what_if=0,
    )  # fmt: skip
    assert [line.to_json() for line in again.classes[1].lines] == [line.to_json() for line in found.classes[1].lines]
    assert again.what_if is None


def test_frozen_columns_are_measured_and_verified(found: Audit) -> None:
    measured = found.what_if
    assert measured is not None
    assert measured.of == "bad"
    assert 1 <= len(measured.lines) <= 3
    assert not set(measured.lines) & set(FROZEN)
    for line in measured.lines.values():
        assert all(line[budget].hits <= measured.now[budget].hits for budget in line)
    name, line = next(iter(measured.lines.items()))
    assert f"With {name} frozen and the bad rows attacked again, {100 * line[1].value:.1f} %" in found._repr_html_()
    assert "Measured: attacked again with a column frozen" in (found.folder / "report.html").read_text()
    said = call_program("verify", found.folder, "--json")
    assert sum(run["name"].startswith("what-if: ") for run in json.loads(said)["runs"]) == 2 * len(measured.lines)


def test_a_threat_model_says_what_an_attacker_may_do(german: Table, model: Path) -> None:
    space = hb.MaskedSpace(german.schema, immutable=[f.name for f in german.schema.features if f.name != "status"])
    found = hb.audit(
        model, german.path, label="risk", threat=hb.ThreatModel(space, 1), rows_per_class=20, attacks=["exhaustive"]
    )
    assert list(found.classes) == [1]
    changed = found.rows(1)["changes"]
    assert changed[changed != ""].str.startswith("status: ").all()
    with pytest.raises(InputError, match="Put them into the threat"):
        hb.audit(model, german.path, label="risk", threat=space, immutable=["age"])


def test_the_command_goes_on_where_it_was(german: Table, model: Path, tmp_path: Path) -> None:
    arguments = [
        "audit", german.path, "--label", "risk", "--model", model, "--positive", "bad", "--rows-per-class", 12,
        "--budgets", "1", "--out", tmp_path / "out",
    ]  # fmt: skip
    shown = call_program(*arguments)
    assert "bad -> " in shown
    assert "report: " in shown
    content = (tmp_path / "out" / FILE).read_bytes()
    call_program(*arguments)
    with hb.open_store(tmp_path / "out", readonly=True) as store:
        assert [run.rows for run in store.runs()] == [24]
        assert len(store.sessions(1)) == 1, "nothing is attacked twice"
    assert len((tmp_path / "out" / FILE).read_bytes()) == len(content)
    assert "verified" in call_program("verify", tmp_path / "out")
    call_program("report", tmp_path / "out", "--model", model)
    (listed,) = json.loads(call_program("results", "list", tmp_path / "out", "--model", model, "--json"))
    assert listed["victim"] == str(model)
    with pytest.raises(InputError, match=r"got 'other\.ubj'"):
        call_program("results", "export", tmp_path / "out", "--model", "other.ubj")


def test_the_rows_of_a_test_file_are_audited(german: Table, model: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    german.frame.tail(100).to_csv(test, index=False)
    call_program(
        "audit", german.path, "--label", "risk", "--model", model, "--test", test, "--rows-per-class", 500,
        "--budgets", "1", "--attacks", "random", "--out", tmp_path / "out",
    )  # fmt: skip
    with hb.open_store(tmp_path / "out", readonly=True) as store:
        (run,) = store.runs()
        assert (run.key.split, run.rows) == ("test", 100)
    assert "How many rows of test.csv can be broken" in (tmp_path / "out" / "report.html").read_text()


def test_what_a_black_box_refuses_is_recorded(german: Table, model: Path, tmp_path: Path) -> None:
    arguments = ["--label", "risk", "--model", model, "--rows-per-class", 4, "--budgets", "1", "--out", tmp_path]
    said = call_program("audit", german.path, *arguments, "--attacks", "random,pcaa")
    reason = "pcaa needs gradients, and this model has none."
    assert reason in " ".join(said.split())
    assert reason in (tmp_path / "report.html").read_text()
    with hb.open_store(tmp_path, readonly=True) as store:
        assert {run.name: run.refused for run in store.runs()} == {"random": None, "pcaa": reason}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positive": "Bad"}, "Did you mean 'bad'"),
        ({"immutable": ["Age"]}, "Did you mean 'age'"),
        ({"label": "Risk"}, "Did you mean 'risk'"),
        ({"budgets": []}, "at least one budget"),
        ({"budgets": [0]}, "expected budget of 1 to 20, got 0"),
        ({"budgets": [21]}, "expected budget of 1 to 20, got 21"),
        ({"attacks": ["aut"]}, "Did you mean 'auto'"),
        ({"rows_per_class": 0}, "expected rows per class"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(
    german: Table, model: Path, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"label": "risk", "folder": tmp_path / "out"}
    with pytest.raises(InputError, match=message):
        hb.audit(model, german.path, **(given | changes))
    assert not (tmp_path / "out").exists()


def test_a_table_that_lacks_a_column_of_the_model(german: Table, model: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.csv"
    german.frame.drop(columns="amount").to_csv(short, index=False)
    with pytest.raises(InputError, match="without amount"):
        hb.audit(model, short, label="risk", folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()
