"""What records say of a victim and of S(x), and which documents a store refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import ATTACKS, Checkpoint, Dataset, FileError, FullSpace, ThreatModel, evaluate_into, open_store
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.result_form import read_lines
from hammingbox.running.record import defence_of
from hammingbox.running.store.sqlite_store import SQLiteStore
from hammingbox.running.store.store import document_digest
from hammingbox.running.verify_store import verify_store
from hammingbox.threat.space_json import check_space_document
from toys import Case, ToyVictim, toy_rows, toy_schema


@pytest.mark.parametrize(
    ("training", "wanted"),
    [({}, "standard"), ({"defence": None}, "standard"), ({"defence": "Standard()"}, "standard"),
     ({"defence": "PAdvT(budget=2)"}, "PAdvT(budget=2)")],
)  # fmt: skip
def test_how_a_victim_was_trained(training: dict[str, Any], wanted: str) -> None:
    schema = toy_schema((3, 2))
    assert defence_of(Checkpoint(ToyVictim((3, 2)), "toy", {}, schema, training)) == wanted


FULL: dict[str, Any] = {"kind": "full"}


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, {"kind": 1}, {"kind": "ruled"}, {"kind": "ruled", "base": FULL}, {"kind": "ruled", "rules": {}},
        {"kind": "ruled", "base": [], "rules": {}}, {"kind": "ruled", "base": FULL, "rules": []},
        {"kind": "ruled", "base": {"kind": "ruled", "base": FULL, "rules": {}}, "rules": {}},
        {"kind": "ruled", "base": {"kind": "masked"}, "rules": {}}, {"kind": "masked"},
    ],
)  # fmt: skip
def test_spaces_that_are_damaged(document: Any, case: Case, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected a"):
        check_space_document(document)
    check_space_document({"kind": "ruled", "base": FULL, "rules": {}})
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data.take(slice(0, 1)), threat, ATTACKS["ga"]())
        run = store.runs()[0]
        digest = document_digest(document)
        assert isinstance(store, SQLiteStore)
        with store._database.write() as connection:
            connection.execute("INSERT INTO documents VALUES (?, ?)", (digest, str(document).replace("'", '"')))
        with pytest.raises(FileError):
            store.space(replace(run, key=replace(run.key, space_sha256=digest)))


@pytest.mark.parametrize(("categories", "size"), [(256, 1), (257, 2)])
def test_ids_are_stored_as_narrow_as_the_schema_allows(categories: int, size: int, tmp_path: Path) -> None:
    schema = toy_schema((categories, 2))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=3)
    with open_store(tmp_path, create=True) as store:
        threat = ThreatModel(FullSpace(schema), 1)
        evaluate_into(store, Checkpoint(victim, "toy", {}, schema), Dataset(schema, x, y), threat, ATTACKS["ga"]())
        assert isinstance(store, SQLiteStore)
        with store._database.read() as connection:
            assert {len(blob) for (blob,) in connection.execute("SELECT clean FROM rows")} == {2 * size}


def test_rows_in_parts(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    zero = Dataset(data.schema, data.ids, data.labels, "toy", torch.arange(30))
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, zero, threat, ATTACKS["ga"]())
        for above, most, wanted in (
            (-1, None, range(30)),
            (-1, 2, range(2)),
            (0, None, range(1, 30)),
            (0, 3, (1, 2, 3)),
        ):
            assert store.rows(1, above=above, most=most).numbers.tolist() == list(wanted)
        assert store.rows(1, [0, 5], above=0).numbers.tolist() == [5]


def test_failures_are_forgotten_when_their_rows_are_recorded(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data.take(slice(0, 2)), threat, ATTACKS["ga"]())
        store.fail(1, [FailedRow(102, "died"), FailedRow(105, "died")])
        store.fail(1, [FailedRow(102, "died again")])
        assert [(row.number, row.reason) for row in store.failures(1)] == [(102, "died again"), (105, "died")]
        evaluate_into(store, checkpoint, data.take(slice(0, 4)), threat, ATTACKS["ga"]())
        assert [row.number for row in store.failures(1)] == [105]
        assert isinstance(store, SQLiteStore)
        assert store.damage(1) == []


def test_a_line_with_another_number_of_fields_is_named() -> None:
    names = ["a", "b"]
    assert read_lines(b"a,b\r\n1,2\r\n", names) == [["1", "2"]]
    with pytest.raises(ValueError, match="1 fields in line 3, not 2"):
        read_lines(b"a,b\r\n1,2\r\n3\r\n", names)
    with pytest.raises(ValueError, match="other columns"):
        read_lines(b"a,c\r\n", names)


@pytest.mark.parametrize("place", ["evil_victim:model", "http://127.0.0.1:9/model"])
def test_a_store_does_not_get_its_victim_imported_or_asked(
    place: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends a results folder may name any module or service in it."""
    (tmp_path / "evil_victim.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data.take(slice(0, 4)), threat, ATTACKS["ga"](), place=place)
    found = verify_store(tmp_path)
    (run,) = found.runs
    assert run.found.verdict == "could not compare"
    assert "without running code or sending rows" in " ".join(run.found.missing)
    assert not (tmp_path / "evil_victim.ran").exists()
