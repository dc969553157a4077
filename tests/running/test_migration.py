"""A store, a checkpoint and a result file of version 0.1 open, are read and are continued."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hammingbox import (
    ATTACKS,
    FileError,
    MaskedSpace,
    Splits,
    ThreatModel,
    load_checkpoint,
    open_store,
    read_results,
    verify,
)
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import FILE
from hammingbox.running.store import tables as tables_module
from hammingbox.running.store.tables import FORMAT
from hammingbox.running.verify_store import verify_run, verify_store

OLD = Path(__file__).parents[1] / "fixtures" / "d15ede3"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    shutil.copy(OLD / "store" / FILE, tmp_path / FILE)
    return tmp_path


def content(path: Path) -> str:
    return hashlib.sha256((path / FILE).read_bytes()).hexdigest()


def old_rows(path: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(path / FILE) as connection:
        return connection.execute(
            "SELECT run, number, label, correct, success, distance, margin, forward, backward, stage, clean, "
            "adversarial, clean_logits, logits FROM rows ORDER BY run, number"
        ).fetchall()


def test_the_fixture_is_of_format_1() -> None:
    with sqlite3.connect(f"file:{OLD / 'store' / FILE}?mode=ro&immutable=1", uri=True) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 1


def test_a_reader_changes_nothing(store: Path) -> None:
    before = content(store)
    with open_store(store, readonly=True) as reader:
        assert len(reader.runs()) == 13
        assert reader.goal(reader.run(11)) == {"kind": "target", "label": "EI"}
    assert content(store) == before


def test_every_record_is_kept(store: Path) -> None:
    before = old_rows(store)
    with open_store(store) as migrated:
        assert {r.id: r.rows for r in migrated.runs()} == dict.fromkeys(range(1, 12), 12) | {12: 0, 13: 7}
        assert migrated.goal(migrated.run(1)) == {"kind": "any_other"}
        assert "raise max_passes" in (migrated.run(12).refused or "")
        targeted = migrated.rows(11)
        assert int(targeted.attacked.sum()) == 7, "rows of the target's class were not attacked"
        assert migrated.sessions(1)[0].rows == 12
    assert old_rows(store) == before
    with open_store(store) as again:
        assert len(again.runs()) == 13


def test_what_enumeration_settled_becomes_a_proof(store: Path) -> None:
    with open_store(store) as migrated:
        names = {r.id: (r.name, r.key.budget) for r in migrated.runs() if int(migrated.rows(r.id).proven.sum())}
        assert set(names.values()) == {("oracle", 1), ("oracle", 2), ("auto", 1)}
        rows = migrated.rows(5)
        assert (rows.proven == (rows.attacked & ~rows.success)).all()


def test_a_run_is_continued(store: Path, splice_splits: Splits) -> None:
    checkpoint = load_checkpoint(OLD / "victim", schema=splice_splits.schema)
    threat = ThreatModel(MaskedSpace(splice_splits.schema, forbidden={"*": ["N"]}), 2)
    data = splice_splits.test.take(slice(0, 12))
    before = old_rows(store)
    with open_store(store) as migrated:
        for name in ("gga", "swap"):
            evaluate_into(
                migrated, checkpoint, data, threat, ATTACKS[name](), name=name, place="victim", source="splice"
            )
        assert len(migrated.runs()) == 13, "the same keys"
        assert [s.rows for s in migrated.sessions(2)] == [12], "nothing was left to do"
        assert [s.rows for s in migrated.sessions(13)] == [7, 5]
        for run in (2, 11, 13):
            assert verify_run(migrated, run, checkpoint.victim, data=splice_splits.test).ok
    assert [row for row in old_rows(store) if row in before] == before


def test_a_newer_store_is_left_alone(store: Path) -> None:
    with sqlite3.connect(store / FILE) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()
    before = content(store)
    for readonly in (True, False):
        with pytest.raises(FileError, match=f"got format {FORMAT + 1}, written by a newer"):
            open_store(store, readonly=readonly)
    assert content(store) == before


def test_a_migration_on_a_full_disk_changes_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = old_rows(store)
    migrate = tables_module._from_1_to_2

    def without_space(connection: sqlite3.Connection) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        migrate(connection)

    monkeypatch.setattr(tables_module, "_from_1_to_2", without_space)
    with pytest.raises(FileError, match="got a full disk"):
        open_store(store)
    assert old_rows(store) == before
    with sqlite3.connect(store / FILE) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 1
        assert connection.execute("SELECT count(target) FROM runs").fetchone()[0] == 13
    connection.close()
    monkeypatch.undo()
    with open_store(store) as migrated:
        assert len(migrated.runs()) == 13


def test_a_store_of_format_2_is_sealed_when_it_is_migrated(tmp_path: Path, splice_splits: Splits) -> None:
    shutil.copy(OLD.parent / "format-2" / FILE, tmp_path / FILE)
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 2
    connection.close()
    before = old_rows(tmp_path)
    found = verify_store(tmp_path, victim=OLD / "victim")
    assert found.ok, found.problems
    assert found.confirmed == found.claimed > 20
    with_rows = [part for part in found.runs if part.found.rows]
    assert all("sealed at migration" in part.found.notes[0] for part in with_rows)
    assert old_rows(tmp_path) == before, "a reader changes nothing"
    checkpoint = load_checkpoint(OLD / "victim", schema=splice_splits.schema)
    threat = ThreatModel(MaskedSpace(splice_splits.schema, forbidden={"*": ["N"]}), 2)
    with open_store(tmp_path) as migrated:
        runs = len(migrated.runs())
        evaluate_into(
            migrated, checkpoint, splice_splits.test.take(slice(0, 8)), threat, ATTACKS["swap"](), name="swap",
            place="victim", source="splice",
        )  # fmt: skip
        assert len(migrated.runs()) == runs, "the same key"
        assert migrated.damage() == migrated.damage(runs) == []
    assert verify_store(tmp_path, victim=OLD / "victim").ok
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE rows SET success = 1 - success WHERE run = 1")
    connection.close()
    assert not verify_store(tmp_path, victim=OLD / "victim").ok


KILLED = """
import os, sys
from hammingbox.running.store import open_store, tables
real = tables._from_1_to_2
def die(connection):
    real(connection)
    os.kill(os.getpid(), 9)
tables._from_1_to_2 = die
open_store(sys.argv[1])
"""


def test_a_migration_killed_half_way_changes_nothing(store: Path) -> None:
    before = old_rows(store)
    died = subprocess.run([sys.executable, "-c", KILLED, str(store)], env=dict(os.environ), check=False, timeout=120)
    assert died.returncode == -9
    with sqlite3.connect(store / FILE) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 1
    connection.close()
    assert old_rows(store) == before
    with open_store(store) as migrated:
        assert len(migrated.runs()) == 13


def test_a_result_file_is_read_and_verified(splice_splits: Splits) -> None:
    victim = load_checkpoint(OLD / "victim", schema=splice_splits.schema).victim
    assert read_results(OLD / "file" / "ga-1.json").goal == {"kind": "any_other"}
    assert verify(OLD / "file" / "ga-1.json", victim, data=splice_splits.test).ok
