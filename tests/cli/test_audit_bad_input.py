"""What a stranger gets wrong in `hammingbox audit`: one sentence with the remedy, and nothing half-written."""

import json
import re
import shlex
import socket
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost

from hammingbox import HammingboxError
from hammingbox.report.measured_what_if import FOLDER
from hammingbox.running.store import FILE
from toys.program import call_program


def ugly_table() -> pd.DataFrame:
    """Numbers with a code for unknown, a gap, a date, a boolean, a constant and an identifier."""
    random = np.random.default_rng(0)
    fraud = random.random(120) < 0.3
    amount = np.where(fraud, 90, 40) + random.integers(0, 30, 120).astype(float)
    amount[::17] = -999
    frame = pd.DataFrame(
        {
            "customer": [f"c{i:04d}" for i in range(120)],
            "amount": amount,
            "when": pd.date_range("2026-01-01", periods=120).strftime("%Y-%m-%d"),
            "city": np.where(fraud ^ (random.random(120) < 0.2), "Rom", "Ulm"),
            "new": random.random(120) < 0.5,
            "currency": "EUR",
            "fraud": np.where(fraud, "yes", "no"),
        }
    )
    frame.loc[::13, "city"] = np.nan
    return frame


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, frame = tmp_path_factory.mktemp("ugly"), ugly_table()
    frame.to_csv(folder / "all.csv", index=False)
    typed = frame[["amount", "city", "new"]].astype({"city": "category"})
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, enable_categorical=True, n_jobs=1)
    model.fit(typed, (frame["fraud"] == "yes").astype(int)).save_model(folder / "model.ubj")
    three = xgboost.XGBClassifier(n_estimators=1, max_depth=1, enable_categorical=True, n_jobs=1)
    three.fit(typed, np.arange(120) % 3).save_model(folder / "three.ubj")
    alone = xgboost.XGBClassifier(n_estimators=1, max_depth=1, n_jobs=1)
    alone.fit(typed[["amount"]], (frame["fraud"] == "yes").astype(int)).save_model(folder / "amount.ubj")
    content = (folder / "model.ubj").read_bytes()
    (folder / "half.ubj").write_bytes(content[: len(content) // 2])
    (folder / "model.txt").write_bytes(content)
    (folder / "model.pkl").write_bytes(b"\x80\x04.")
    frame.drop(columns="amount").to_csv(folder / "short.csv", index=False)
    frame.assign(amount="much").to_csv(folder / "words.csv", index=False)
    frame.assign(fraud="no").to_csv(folder / "tame.csv", index=False)
    frame.assign(city="Oslo").tail(10).to_csv(folder / "far.csv", index=False)
    frame.assign(fraud="perhaps").tail(10).to_csv(folder / "odd.csv", index=False)
    return folder


def test_an_ugly_table_is_audited(place: Path, tmp_path: Path) -> None:
    said = call_program(
        "audit", place / "all.csv", "--label", "fraud", "--model", place / "model.ubj", "--positive", "yes",
        "--rows-per-class", 8, "--budgets", "1", "--out", tmp_path / "out",
    )  # fmt: skip
    assert "yes -> no: " in said
    assert "the model does not take" in " ".join(said.split()), "columns that the model does not read are named"
    assert "verified" in call_program("verify", tmp_path / "out")


def _closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/predict"


MISTAKES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a missing column": ("short.csv", lambda place: place / "model.ubj", "got a table without amount"),
    "words for numbers": ("words.csv", lambda place: place / "model.ubj", "expected numbers in column 'amount'"),
    "one class": ("tame.csv", lambda place: place / "model.ubj", "at least two classes in the label column 'fraud'"),
    "three classes": ("all.csv", lambda place: place / "three.ubj", "class"),
    "half a model": ("all.csv", lambda place: place / "half.ubj", "half.ubj"),
    "another library": ("all.csv", lambda place: place / "model.txt", "because of its suffix|LightGBM"),
    "a pickle": ("all.csv", lambda place: place / "model.pkl", "skops"),
    "no model": ("all.csv", lambda place: place / "none.ubj", "got nothing there"),
    "no table": ("none.csv", lambda place: place / "model.ubj", "none.csv"),
    "unknown categories in the test file": (
        "all.csv --test far.csv",
        lambda place: place / "model.ubj",
        'set unknown = "category"',
    ),
    "two models": (
        "all.csv --model none.ubj",
        lambda place: place / "model.ubj",
        "one --model, got 2 .* `hammingbox compare`",
    ),
    "other classes in the test file": ("all.csv --test odd.csv", lambda place: place / "model.ubj", "perhaps"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_sentence(mistake: str, place: Path, tmp_path: Path) -> None:
    table, model, message = MISTAKES[mistake]
    data, *test = (place / word if word.endswith(".csv") else word for word in table.split())
    with pytest.raises(HammingboxError, match=message) as error:
        call_program("audit", data, *test, "--label", "fraud", "--model", model(place), "--out", tmp_path / "out")
    assert len(str(error.value)) < 600
    assert not (tmp_path / "out" / FILE).exists()


@pytest.mark.parametrize("command", ["audit", "attack", "compare", "diagnose"])
def test_a_label_that_the_model_takes_as_a_feature(command: str, place: Path, tmp_path: Path) -> None:
    where = [] if command == "diagnose" else ["--out", tmp_path / "out"]
    with pytest.raises(HammingboxError, match=r"got 'new', a column that the model takes .* wrong label\?"):
        call_program(command, place / "all.csv", "--label", "new", "--model", place / "model.ubj", *where)
    assert not (tmp_path / "out" / FILE).exists()
    with pytest.raises(HammingboxError, match="got a table without amount"):  # another column than the label
        call_program(command, place / "short.csv", "--label", "new", "--model", place / "amount.ubj", *where)


def test_the_page_of_an_audit_repeats_it_with_its_frozen_columns(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call_program(
        "audit", place / "all.csv", "--label", "fraud", "--model", place / "model.ubj", "--rows-per-class", 8,
        "--budgets", "1", "--what-if", 2, "--immutable", "new", "--out", out,
    )  # fmt: skip
    page = (out / "report.html").read_text()
    assert page.count("how the model is asked") == 1, "one finding, however many notes the model has"
    block = re.search(r"<pre[^>]*>(.*?)</pre>", page, re.S)
    assert block is not None
    program, command, *options = shlex.split(unescape(block[1]))
    assert (program, command) == ("hammingbox", "audit")
    frozen = call_program("results", "list", out / FOLDER, "--json")
    assert options[options.index("--what-if") + 1] == str(len(json.loads(frozen)))
    before = call_program("results", "list", out, "--json")
    call_program(command, *options)
    assert call_program("results", "list", out, "--json") == before, "every row was there already"
    assert call_program("results", "list", out / FOLDER, "--json") == frozen


def test_a_service_that_is_down(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hammingbox.victims.service.time.sleep", lambda _seconds: None)
    with pytest.raises(HammingboxError, match=r"127\.0\.0\.1"):
        call_program(
            "audit", place / "all.csv", "--label", "fraud", "--model", _closed_port(), "--out", tmp_path / "out"
        )
    assert not (tmp_path / "out" / FILE).exists()
