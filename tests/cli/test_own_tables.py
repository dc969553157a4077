"""A mixed table of one's own on the command line: inspected, split by time, trained, attacked, verified."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hammingbox.errors import HammingboxError
from toys.program import call_program as call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in which the label depends on an amount; its last third is also a test file of its own."""
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    rows = [
        [
            i,
            f"2020-{i // 50 + 1:02d}-{i % 28 + 1:02d}",
            f"u{i % 30}",
            f"{x:.2f}",
            "ab"[i % 2],
            ["no", "yes"][int(x > 60)],
        ]
        for i, x in enumerate(random.gamma(4, 15, 600))
    ]
    for name, part in (("all", rows), ("train", rows[:400]), ("test", rows[400:])):
        with (folder / f"{name}.csv").open("w", newline="", encoding="latin-1") as file:
            csv.writer(file).writerows([["id", "day", "user", "amount", "kind", "fraud"], *part])
    return folder


def test_inspect_proposes_one_line_per_column(folder: Path) -> None:
    shown = call("data", "inspect", folder / "all.csv", "--label", "fraud", "--out", folder / "schema.toml")
    text = (folder / "schema.toml").read_text()
    assert '{ name = "amount", kind = "number", candidates = "quantiles:10" },' in text
    assert '{ name = "user", kind = "category" },' in text
    for note in ("identifier", "dates", "predicts"):
        assert note in shown.replace("\n", " "), note
    facts = json.loads(call("data", "inspect", folder / "all.csv", "--label", "fraud", "--json"))
    notes = {column["name"]: column["note"] for column in facts["columns"]}
    assert "identifier" in notes["id"]
    assert "alone it predicts the label" in notes["amount"]


def test_a_text_beside_other_columns_is_named_and_shown_short(tmp_path: Path) -> None:
    name = "review_of_the_film_as_it_was_written_by_the_person_who_saw_it"
    rows = [[f"Review {i} says at some length what the film is about and why.", i * i, i % 2] for i in range(300)]
    with (tmp_path / "mixed.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[name, "stars", "mood"], *rows])
    shown = call("data", "inspect", tmp_path / "mixed.csv", "--label", "mood")
    assert f"{name}: looks like text: name it with --text" in shown
    assert "why." not in shown, "a text would fill a page"
    trained = ["train", tmp_path / "mixed.csv", "--label", "mood", "--model", "mlp", "--epochs", 1]
    (found,) = (
        finding
        for finding in json.loads(call(*trained, "--out", tmp_path / "model", "--json"))["findings"]
        if finding["check"] == "value per row"
    )
    assert f"'{name}'" in found["seen"]
    assert "--text" in found["remedy"]


@pytest.mark.parametrize("split", ["time", "files"])
def test_train_attack_and_verify_with_an_own_split(folder: Path, split: str, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("all.csv", "train.csv", "test.csv"):
        shutil.copy(folder / name, moved)
    data = (
        [moved / "all.csv", "--time", "day"]
        if split == "time"
        else ["--train", moved / "train.csv", "--test", moved / "test.csv", "--group", "user"]
    )
    shown = json.loads(call("data", "show", *data, "--label", "fraud", "--json"))
    assert shown["rows"]["test"] == (120 if split == "time" else 200)
    call("train", *data, "--label", "fraud", "--out", tmp_path / "model", "--epochs", 3, "--json")
    facts = json.loads(
        call(
            "attack", *data, "--label", "fraud", "--victim", tmp_path / "model", "--attack", "swap", "--budget", 1,
            "--rows", 30, "--out", tmp_path / "runs", "--json",
        )
    )  # fmt: skip
    assert facts["rows"] == 30
    checked = json.loads(call("verify", tmp_path / "runs", "--json"))
    assert checked["ok"], checked
    assert checked["claimed"] > 0, "an amount can be written over"
    if split == "files":  # both files moved: the test rows are found beside the training rows
        moved.rename(tmp_path / "again")
        again = call("verify", tmp_path / "runs", "--data", tmp_path / "again" / "train.csv", "--json")
        assert json.loads(again)["ok"], again


BAD = {
    "options of a table on a built-in set": (["data", "show", "splice", "--time", "x"], "only with a file of your own"),
    "no data": (["data", "show"], "expected DATA or --train FILE, got neither"),
    "data twice": (["data", "show", "a.csv", "--train", "b.csv"], "got both"),
    "an unknown unit": (["data", "show", "a.csv", "--text", "t", "--text-unit", "letters"], "unit of text"),
    "a test file that is not there": (
        ["data", "show", "{all}", "--label", "fraud", "--test", "none.csv"], "expected a readable file at none.csv",
    ),
    "another encoding": (["data", "show", "{all}", "--label", "fraud", "--encoding", "utf-99"], "a text encoding"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_one_clear_sentence(case: str, folder: Path) -> None:
    words, message = BAD[case]
    with pytest.raises(HammingboxError, match=message):
        call(*(word.replace("{all}", str(folder / "all.csv")) for word in words))
