"""Plausibility on the command line: noted by `compare`, exported, made again by `report`, demanded by --plausible."""

import csv
import io
import json
from pathlib import Path

import pytest

from toys.program import call_program as call

CITIES = [("Paris", "France"), ("Lyon", "France"), ("Rome", "Italy"), ("Milan", "Italy")]
ROWS = [
    (*CITIES[i % 4], ["card", "cash"][i // 4 % 2], 10 + (i * 7) % 90, ["no", "yes"][(i % 4 >= 2) ^ (i // 4 % 2)])
    for i in range(240)
]
TABLE = "city,country,payment,age,fraud\n" + "".join(f"{','.join(map(str, row))}\n" for row in ROWS)
COMPARE = ["compare", "table.csv", "--label", "fraud", "--victim", "model", "--attacks", "auto", "--budgets", "1,2",
           "--rows", "20"]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plausible")
    (folder / "table.csv").write_text(TABLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        call("train", "table.csv", "--label", "fraud", "--out", "model", "--epochs", "6")
        call(*COMPARE, "--out", "any")
        call(*COMPARE, "--plausible", "--out", "plausible")
    return folder


def exported(folder: str) -> list[dict[str, str]]:
    found = list(csv.DictReader(io.StringIO(call("results", "export", folder, "--what", "rows"))))
    return [row for row in found if row["success"] == "True"]


def test_only_pairs_of_the_table_are_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    anything, plausible = exported("any"), exported("plausible")
    assert any(int(row["unseen_pairs"]) > 0 for row in anything), "the attack is free to write Paris in Italy"
    assert plausible
    assert all(row["unseen_pairs"] == "0" for row in plausible)
    for row in plausible:  # an independent check
        assert (row["city (after)"], row["country (after)"]) in CITIES
    assert all(0 <= float(row["anomaly"]) <= 1 for row in [*anything, *plausible])
    assert "verified" in call("verify", "plausible")


def test_the_page_can_be_given_its_notes_later(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    notes, page = place / "any" / "plausibility.json", place / "any" / "report.html"
    before, shown = notes.read_text(), page.read_text("utf-8")
    assert "Would anybody notice" in shown
    notes.unlink()
    call("report", "any")
    assert "Would anybody notice" not in page.read_text("utf-8")
    call("report", "any", "--plausibility")
    assert json.loads(notes.read_text()) == json.loads(before)
    assert "Would anybody notice" in page.read_text("utf-8")


def test_data_that_is_gone_is_one_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / "table.csv").rename(place / "moved.csv")
    try:
        (place / "any" / "plausibility.json").rename(place / "kept.json")
        call("report", "any", "--plausibility")
        assert not (place / "any" / "plausibility.json").exists()
    finally:
        (place / "moved.csv").rename(place / "table.csv")
        (place / "kept.json").rename(place / "any" / "plausibility.json")
