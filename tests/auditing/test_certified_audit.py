"""An audit that also proves: the band, by class, in the result, the store, the terminal and the report."""

import json
from pathlib import Path

import pandas as pd
import pytest
import xgboost

import hammingbox as hb
from hammingbox import Audit
from hammingbox.running.store import open_store
from hammingbox.running.verify_store import verify_store
from toys.program import call_program
from victims.tables import Table, german_credit

FROZEN = ("duration", "amount", "age", "history", "purpose", "savings", "employment", "property", "job", "plans")


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return german_credit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def booster(german: Table) -> xgboost.XGBClassifier:
    found = xgboost.XGBClassifier(n_estimators=12, max_depth=3, enable_categorical=True, n_jobs=1)
    return found.fit(german.categorised, (german.labels == "good").astype(int))


@pytest.fixture(scope="module")
def model(german: Table, booster: xgboost.XGBClassifier) -> Path:
    path = german.path.with_name("model.ubj")
    booster.save_model(path)
    return path


@pytest.fixture(scope="module")
def found(german: Table, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return hb.audit(
        model, german.path, label="risk", positive="bad", budgets=[1, 2], rows_per_class=20, immutable=FROZEN,
        folder=tmp_path_factory.mktemp("found"), what_if=0, certify=True,
    )  # fmt: skip


def test_trees_leave_no_gap_between_certified_and_attacked(found: Audit) -> None:
    assert "trees" in found.how_proven
    assert [line.budget for line in found.band] == [1, 2]
    for line in found.band:
        assert line.certified == line.attacked
        assert line.certified.rows == 40
        assert set(line.by_class) == {"bad", "good"}
    first, second = found.band
    right = sum(line.correct for line in found.classes[1].lines)
    assert 0 < second.certified.hits <= first.certified.hits < right, "some rows are proven, and some are broken"


def test_nothing_that_is_proven_was_broken(found: Audit) -> None:
    for budget in (1, 2):
        proofs, attack = found.rows(budget, attack="certify auto"), found.rows(budget, attack="auto")
        proven = proofs.index[proofs["status"] == "proven"]
        assert len(proven)
        assert not (attack.loc[proven, "status"] == "broken").any()


def test_proofs_are_in_the_store_and_on_the_page(found: Audit) -> None:
    with open_store(found.folder, readonly=True) as store:
        assert {run.name for run in store.runs()} == {"auto", "certify auto"}
    assert verify_store(found.folder).ok
    page = (found.folder / "report.html").read_text()
    assert "Certified and attacked accuracy" in page
    assert ">Proven</a>" in page, "the contents lead there"
    words = found._repr_html_()
    assert "proven to hold" in words
    assert found.how_proven in words


def test_the_command_shows_the_band_and_goes_on_where_it_was(german: Table, model: Path, tmp_path: Path) -> None:
    arguments = (
        "audit", german.path, "--label", "risk", "--model", model, "--rows-per-class", "10", "--budgets", "1-2",
        "--what-if", "0", "--out", tmp_path / "out", *(word for name in FROZEN for word in ("--immutable", name)),
    )  # fmt: skip
    assert json.loads(call_program(*arguments, "--json"))["certified"] is None
    shown = call_program(*arguments, "--certify")
    assert "Certified by trees" in shown
    facts = json.loads(call_program(*arguments, "--certify", "--json"))["certified"]
    assert [line["budget"] for line in facts] == [1, 2]
    for line in facts:
        assert line["certified"] == line["attacked"]
        assert f"{100 * line['certified']:.1f} to {100 * line['attacked']:.1f}" in shown


def test_a_model_that_can_only_be_asked_is_enumerated_and_told_what_would_help(
    german: Table, booster: xgboost.XGBClassifier
) -> None:
    def ask(rows: pd.DataFrame) -> object:
        return booster.predict_proba(rows)[:, ::-1]

    found = hb.audit(
        ask, german.categorised.assign(risk=german.labels), label="risk", budgets=[1], rows_per_class=10,
        immutable=FROZEN, what_if=0, certify=True, name="asked",
    )  # fmt: skip
    assert "Only enumeration applies" in found.how_proven
    assert "hb.Ablated" in found.how_proven
    (line,) = found.band
    assert line.certified == line.attacked, "all points within one change are few"


def test_an_audit_that_was_not_asked_to_prove_says_nothing_about_it(german: Table, model: Path) -> None:
    found = hb.audit(
        model, german.path, label="risk", budgets=[1], rows_per_class=5, immutable=FROZEN, what_if=0,
    )  # fmt: skip
    assert not found.how_proven
    assert "proven to hold" not in found._repr_html_()
