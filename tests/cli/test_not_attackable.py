"""Rows that a threat leaves no change: no attack gets them, no success rate counts them, `verify` knows them."""

import csv
import io
import json
import re
import sqlite3
from pathlib import Path

import pytest

from hammingbox.running.store import FILE
from hammingbox.running.store.seals import seal_everything
from toys.program import call_program as call

LEVELS = 4
TABLE = "level,shop,label\n" + "".join(
    f"{level},shop {i % 30},{'low' if level < 2 else 'high'}\n" for i in range(60) for level in range(LEVELS)
)
THREAT = """
[columns.level]
direction = "grows"

[columns.shop]
frozen = true
"""
WORDS = ["table.csv", "--label", "label", "--victim", "model", "--threat", "threat.toml", "--rows", "all"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose top level cannot grow, and a model of it."""
    folder = tmp_path_factory.mktemp("levels")
    (folder / "table.csv").write_text(TABLE)
    (folder / "threat.toml").write_text(THREAT)
    call("train", folder / "table.csv", "--label", "label", "--out", folder / "model", "--epochs", "60")
    return folder


@pytest.fixture(scope="module")
def compared(trained: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(trained)
        call("compare", *WORDS, "--attacks", "gga,exhaustive", "--budgets", "1", "--out", "out")
    return trained


def top_rows(folder: Path) -> int:
    """Attacked rows of the highest level, as the store has them."""
    with sqlite3.connect(folder / "out" / FILE) as connection:
        return connection.execute("SELECT count(*) FROM rows WHERE correct AND NOT attacked AND run = 1").fetchone()[0]


def test_they_are_in_no_success_rate(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(compared)
    found = json.loads(call("attack", *WORDS, "--attack", "gga", "--budget", "1", "--json"))
    fixed = found["not_attackable"]
    assert fixed == top_rows(compared) > 0
    assert found["attacked"] + fixed == found["correct"]
    assert 0 < found["success"] < found["attacked"], "levels 0 and 1 can become high, level 2 stays so"
    assert [one["check"] for one in found["findings"]].count("no change allowed") == 1
    shown = call("attack", *WORDS, "--attack", "gga", "--budget", "1")
    assert re.search(rf"not attackable\s+{fixed} rows have no change that the threat allows", shown)
    assert f"of the {found['attacked']} of those that can be attacked" in " ".join(shown.split())


def test_records_pages_and_exports_name_them(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(compared)
    fixed = top_rows(compared)
    page = (compared / "out/report.html").read_text()
    assert f"{fixed} not attackable" in page
    assert "no change at all: they are not attackable" in page
    rows = list(csv.DictReader(io.StringIO(call("results", "export", "out", "--what", "rows"))))
    told = [row for row in rows if row["status"] == "not attackable"]
    assert len(told) == 2 * fixed
    assert {row["level (before)"] for row in told} == {str(LEVELS - 1)}
    assert {(row["forward"], row["backward"], row["distance"]) for row in told} == {("0", "0", "0")}
    assert "verified" in call("verify", "out").splitlines()[-1]


def test_certificates_count_them_by_their_clean_answer(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(compared)
    found = json.loads(call("certify", *WORDS, "--budgets", "1", "--out", "proofs", "--json"))
    (line,) = found["by_budget"]
    assert line["not_attackable"] == top_rows(compared)
    assert line["broken"] + line["proven"] + line["not_attackable"] == found["correct"]
    assert "not attackable" in call("certify", *WORDS, "--budgets", "1", "--out", "proofs")
    assert "verified" in call("verify", "proofs").splitlines()[-1]


@pytest.mark.parametrize(
    ("edit", "noticed"),
    [
        ("UPDATE rows SET attacked = 1 WHERE correct AND NOT attacked", "attacked"),
        ("UPDATE rows SET proven = 0 WHERE proven AND NOT attacked", "cannot be attacked, since no change is allowed"),
        ("UPDATE rows SET proven = 1, attacked = 0 WHERE attacked AND NOT success AND run = 1", "attacked"),
    ],
)
def test_forged_records_are_noticed(
    compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: str, noticed: str
) -> None:
    monkeypatch.chdir(compared)
    with sqlite3.connect(compared / "out" / FILE) as connection, sqlite3.connect(tmp_path / FILE) as copy:
        connection.backup(copy)
        assert copy.execute(edit).rowcount
        copy.execute("DELETE FROM seals")
        seal_everything(copy)
        copy.execute("UPDATE seals SET origin = 'recorded'")
    assert noticed in call("verify", tmp_path, code=1)


def test_where_no_row_can_be_attacked_there_is_no_rate(
    compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(compared)
    (tmp_path / "frozen.toml").write_text('[columns."*"]\nfrozen = true\n')
    words = [*WORDS[:6], tmp_path / "frozen.toml", "--rows", "all", "--attack", "gga", "--budget", "1"]
    shown = " ".join(call("attack", *words, code=1).split())
    assert re.search(r"the threat leaves (\d+) of the \1 that were right before no change at all", shown)
