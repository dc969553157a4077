"""Edits of an audit's folder: its runs and those with frozen columns are verified together; each edit is noticed."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
import torch

import hammingbox as hb
from hammingbox.report.measured_what_if import FOLDER
from hammingbox.running.store import FILE
from hammingbox.running.store.seals import seal_everything
from toys.program import call_program


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, a checkpoint and its audit."""
    folder = tmp_path_factory.mktemp("original")
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(3, (300, 4), generator=generator).tolist()
    schema = hb.Schema(tuple(hb.Feature(name, ("x", "y", "z")) for name in "abcd"), ("no", "yes"))
    victim = hb.build("mlp", schema, seed=4).eval()
    labels = victim(torch.tensor(values)).argmax(1)
    labels[::9] = 1 - labels[::9]  # some rows are wrong before
    lines = [
        ",".join([*("xyz"[value] for value in row), schema.classes[label]])
        for row, label in zip(values, labels.tolist(), strict=True)
    ]
    (folder / "mine.csv").write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n")
    assert hb.load_table(folder / "mine.csv", label="label").splits.schema == schema
    hb.Checkpoint(victim, "mlp", {}, schema).save(folder / "victim")
    found = hb.audit(
        folder / "victim", folder / "mine.csv", label="label", budgets=[1], rows_per_class=12, attacks=["ga"],
        immutable=["b"], folder=folder / "audit", what_if=1,
    )  # fmt: skip
    assert found.what_if is not None
    with hb.open_store(folder / "audit" / FOLDER, readonly=True) as store:
        rows = store.rows(1)
        assert 0 < int(rows.success.sum()) < len(rows)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy"


def verified(folder: Path, code: int) -> str:
    where = (folder / "audit", "--victim", folder / "victim", "--data", folder / "mine.csv")
    runs = json.loads(call_program("verify", *where, "--json", code=code))["runs"]
    return " ".join(run["name"] for run in runs if run["verdict"] != "verified")


def edit(store: Path, statement: str, *, forged: bool) -> None:
    with sqlite3.connect(store / FILE) as connection:
        assert connection.execute(statement).rowcount, "the edit found nothing to change"
        if forged:
            connection.execute("DELETE FROM seals")
            seal_everything(connection)
            connection.execute("UPDATE seals SET origin = 'recorded'")
    connection.close()


def test_the_original_is_verified(folder: Path) -> None:
    assert verified(folder, 0) == ""


KINDS: dict[str, str] = {
    "success invented": "UPDATE rows SET success = 1 WHERE success = 0",
    "success cleared": "UPDATE rows SET success = 0 WHERE success = 1",
    "rows right or wrong": "UPDATE rows SET correct = 1 - correct",
    "labels": "UPDATE rows SET label = 1 - label",
    "rows overwritten": "UPDATE rows SET adversarial = clean WHERE success = 1",
    "another data set": "UPDATE runs SET data_sha256 = 'abc'",
    "another model": "UPDATE runs SET victim_sha256 = 'abc'",
    "a budget of 0": "UPDATE runs SET budget = 0",
}


@pytest.mark.parametrize("place", [".", FOLDER])
@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_an_edit_is_noticed(name: str, forged: bool, place: str, folder: Path) -> None:
    edit(folder / "audit" / place, KINDS[name], forged=forged)
    rejected = verified(folder, 1)
    assert rejected
    assert rejected.startswith("what-if: ") == (place == FOLDER)


@pytest.mark.parametrize("place", [".", FOLDER])
@pytest.mark.parametrize("statement", ["DELETE FROM rows WHERE success = 0", "DELETE FROM runs", "DELETE FROM seals"])
def test_what_was_deleted_is_noticed(statement: str, place: str, folder: Path) -> None:
    edit(folder / "audit" / place, statement, forged=False)
    assert verified(folder, 1)


@pytest.mark.parametrize("place", [".", FOLDER])
def test_a_store_that_is_none_is_one_sentence(place: str, folder: Path) -> None:
    (folder / "audit" / place / FILE).write_bytes(b"SQLite format 3\x00" + bytes(500))
    with pytest.raises(hb.FileError, match="expected"):
        verified(folder, 2)
