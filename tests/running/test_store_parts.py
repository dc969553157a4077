"""Parts of the store by themselves: bytes of rows, ranges of values, seals, locks, and the words of its errors."""

import multiprocessing
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rows import Rows
from hammingbox.running.store import MemoryStore, row_locks, sqlite_file
from hammingbox.running.store.blobs import blobs_to_ids, blobs_to_logits, ids_to_blobs, logits_to_blobs
from hammingbox.running.store.checked import check_rows, check_values, checked_run, checked_session
from hammingbox.running.store.failures import clear_failures, failure_damage, put_failures, read_failures
from hammingbox.running.store.records import RunKey
from hammingbox.running.store.row_locks import FileLocks
from hammingbox.running.store.seals import NOTHING, Sums, add_up, against_seal, change_seal, checksum
from hammingbox.running.store.sqlite_file import APPLICATION, Database, _explain
from hammingbox.running.store.tables import FORMAT

SCHEMA = Schema.sequence(2, "abc", ("x", "y"))


@pytest.mark.parametrize(
    ("largest", "size"), [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**31 - 1, 4)]
)  # fmt: skip
def test_ids_take_as_few_bytes_as_they_need(largest: int, size: int) -> None:
    ids = torch.tensor([[0, largest, 1], [largest, 0, largest]])
    blobs = ids_to_blobs(ids, largest)
    assert [len(blob) for blob in blobs] == [3 * size] * 2
    assert torch.equal(blobs_to_ids(blobs, 3), ids)


def test_bytes_that_are_no_rows() -> None:
    logits = torch.tensor([[1.5, -2.0], [0.25, 1e30]])
    assert torch.equal(blobs_to_logits(logits_to_blobs(logits), 2), logits)
    assert blobs_to_ids([], 3).shape == (0, 3)
    for blobs in ([b"abc", b"ab"], [b"abcd"], [b"a" * 9], [b"a" * 15]):
        with pytest.raises(ValueError, match=r"rows of different sizes|bytes for 3 features"):
            blobs_to_ids(blobs, 3)
    with pytest.raises(ValueError, match="sizes"):
        blobs_to_logits([b"1234", b"12345678"], 1)


def rows(**changes: Any) -> Rows:
    whole, mask, ids = torch.tensor([0, 1]), torch.tensor([True, True]), torch.tensor([[0, 1], [2, 2]])
    plain = Rows(
        numbers=whole, labels=whole, clean=ids, adversarial=ids, clean_logits=torch.ones(2, 2), logits=torch.ones(2, 2),
        correct=mask, attacked=mask, success=mask, distance=whole, margin=torch.ones(2), forward=whole, backward=whole,
        stage=whole, proven=~mask,
    )  # fmt: skip
    return replace(plain, **changes)


@pytest.mark.parametrize(
    ("name", "most"),
    [("numbers", 2**62), ("distance", 2), ("stage", 2**31), ("forward", 2**53), ("backward", 2**53)],
)
def test_numbers_of_rows_have_a_range(name: str, most: int) -> None:
    for fits in ([0, most], [most, 0]):
        check_rows(rows(**{name: torch.tensor(fits)}), SCHEMA, "here")
    for damaged in ([0, most + 1], [-1, 0], [most + 1, -1]):
        with pytest.raises(FileError, match=f"{name} of rows out of range"):
            check_rows(rows(**{name: torch.tensor(damaged)}), SCHEMA, "here")


def test_rows_fit_their_schema() -> None:
    check_rows(rows().take(torch.tensor([], dtype=torch.int64)), SCHEMA, "here")
    ids = torch.tensor([[0, 3], [0, 0]])
    for damage in ({"labels": torch.tensor([0, 2])}, {"clean": ids}, {"adversarial": ids}):
        with pytest.raises(FileError, match="expected whole records in here"):
            check_rows(rows(**damage), SCHEMA, "here")
    for name in ("clean_logits", "logits"):
        with pytest.raises(FileError, match=f"{name} of rows that are not finite"):
            check_rows(rows(**{name: torch.tensor([[1.0, torch.nan], [1.0, 1.0]])}), SCHEMA, "here")
    with pytest.raises(FileError, match="margin of rows that are not finite"):
        check_rows(rows(margin=torch.tensor([torch.inf, 0.0])), SCHEMA, "here")


def test_types_of_values() -> None:
    check_values({"label": [1], "margin": [1, 0.5], "clean": [b""]}, ["clean"], "here")
    for columns in ({"label": ["1"]}, {"label": [1.0]}, {"margin": ["1"]}, {"clean": ["1"]}, {"label": [1, None]}):
        with pytest.raises(FileError, match="of a row"):
            check_values(columns, ["clean"], "here")


KEY: tuple[Any, ...] = ("data", "test", *(["0" * 64] * 4), "standard", "GGA()", 2, 0)
REST: tuple[Any, ...] = ("gga", "place", "mlp", "now", None, 3, 1.5, "", "")


def test_values_of_a_run() -> None:
    assert len(KEY) == len(RunKey.__dataclass_fields__)
    run = checked_run(1, [*KEY, *REST], "here")
    assert (run.id, run.key.budget, run.refused, run.rows, run.seconds) == (1, 2, None, 3, 1.5)
    assert checked_run(1, [*KEY[:-2], 0, 0, *REST[:4], "why", 0, 0.0, "", ""], "here").refused == "why"
    for place, value in ((0, 1), (8, "2"), (9, None), (10, 5), (12, None), (14, 5), (17, b""), (18, None)):
        values = [*KEY, *REST]
        values[place] = value
        with pytest.raises(FileError, match="another type in the values of run 1"):
            checked_run(1, values, "here")
    with pytest.raises(FileError, match="another type"):
        checked_run("1", [*KEY, *REST], "here")
    for place, number in ((8, -1), (9, -1), (16, -0.5), (16, float("nan")), (16, float("inf"))):
        values = [*KEY, *REST]
        values[place] = number
        with pytest.raises(FileError, match="out of range in the values of run 1"):
            checked_run(1, values, "here")


def test_values_of_a_session() -> None:
    assert checked_session(("a", "b", 0, 0), {}, "here").seconds == 0.0
    for values in ((1, "b", 0, 0), ("a", 1, 0, 0), ("a", "b", 0.5, 0), ("a", "b", 0, -1), ("a", "b", 0, "1")):
        with pytest.raises(FileError, match="values of a session"):
            checked_session(values, {}, "here")
    with pytest.raises(FileError, match="values of a session"):
        checked_session(("a", "b", 0, 0), [], "here")


def test_no_two_records_have_one_checksum() -> None:
    records: list[Sequence[object]] = [
        ("a", "b"), ("ab", ""), ("", "ab"), ("a", "b", ""), (b"a", "b"), (1, "b"), ("1", "b"), (1.0, "b"), (True, "b"),
        (None, "b"), ("None", "b"), (), ("",), ("\ud800",),
    ]  # fmt: skip
    assert len({checksum(record) for record in records}) == len(records)
    assert checksum(("a", 1)) == checksum(["a", 1])


def test_a_seal_is_a_sum_that_forgets_the_order() -> None:
    one, two = checksum((1,)), checksum((2,))
    assert add_up(NOTHING, [one, two]) == add_up(add_up(NOTHING, [two]), [one])
    assert add_up(NOTHING, [one, two], [one]) == add_up(NOTHING, [two]) == two
    assert add_up(NOTHING, less=["0" * 63 + "1"]) == "f" * 64, "a sum modulo 2**256"
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE seals (name TEXT PRIMARY KEY, records INT, digest TEXT, origin TEXT)")
        assert against_seal(connection, "rows", Sums()) == []
        assert "expected a seal, got none" in against_seal(connection, "rows", Sums([one]))[0]
        change_seal(connection, "rows", more=[one, two])
        change_seal(connection, "rows", more=[two], less=[one])
        assert against_seal(connection, "rows", Sums([two, two])) == []
        assert "expected 2 records as sealed, got 1" in against_seal(connection, "rows", Sums([two]))[0]
        for sums in ([one, two], ["no hash", two]):
            assert "that were sealed, got others" in against_seal(connection, "rows", Sums(sums))[0]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "a full disk"), (sqlite3.SQLITE_BUSY, "a lock that another program"),
        (sqlite3.SQLITE_LOCKED, "a lock that another program"), (sqlite3.SQLITE_READONLY, "Check the disk"),
        (sqlite3.SQLITE_IOERR | 10 << 8, "Check the disk"), (sqlite3.SQLITE_BUSY | 2 << 8, "a lock"),
        (sqlite3.SQLITE_CORRUPT, "a damaged file"), (sqlite3.SQLITE_NOTADB, "a damaged file"), (None, "a damaged file"),
    ],
)  # fmt: skip
def test_errors_in_words(code: int | None, words: str) -> None:
    error = sqlite3.OperationalError("what SQLite says")
    if code is not None:
        error.sqlite_errorcode = code
    assert words in _explain(Path("store"), error)


@pytest.mark.parametrize(
    "statement",
    ["CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END",
     "ALTER TABLE runs ADD COLUMN twice INT AS (2 * id)"],
)  # fmt: skip
def test_a_file_with_queries_of_its_own_is_not_trusted(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    Database(path, create=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    for readonly in (False, True):
        with pytest.raises(FileError, match="Do not trust it"):
            Database(path, readonly=readonly)


def test_a_new_file_is_marked_and_a_connection_keeps_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with closing(Database(path, create=True)) as database:
        with database.read() as connection:
            found = {
                name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in (
                    "application_id",
                    "user_version",
                    "journal_mode",
                    "foreign_keys",
                    "synchronous",
                    "trusted_schema",
                )
            }
            assert connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) == 2**28
        assert found == {
            "application_id": APPLICATION, "user_version": FORMAT, "journal_mode": "wal", "foreign_keys": 1,
            "synchronous": 1, "trusted_schema": 0,
        }  # fmt: skip
        with pytest.raises(FileError), database.write() as connection:  # a session of no run
            connection.execute("INSERT INTO sessions VALUES (1, 7, '', '', 0, 0, '', '')")
        assert not database.connection.in_transaction
    with (
        closing(Database(path, readonly=True)) as reader,
        pytest.raises(FileError, match="Check the disk"),
        reader.read() as connection,
    ):
        connection.execute("DELETE FROM runs")
    for version in (0, FORMAT + 1):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(FileError, match=f"got format {version}"):
            Database(path)


def _hold(path: Path, run: int, numbers: list[int], pipe: Connection) -> None:
    with closing(FileLocks(path)) as locks:
        pipe.send(locks.take(run, numbers))
        pipe.recv()


def test_rows_are_locked_all_or_none(tmp_path: Path) -> None:
    path, context = tmp_path / "store", multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    other = context.Process(target=_hold, args=(path, 1, [5, 6], theirs))
    other.start()
    assert mine.recv()
    with closing(FileLocks(path)) as locks:
        assert not locks.take(1, [4, 5]), "another process has row 5"
        assert locks.take(2, [5]), "of another run"
        assert locks.take(1, [7])
        probe, answer = context.Pipe()
        third = context.Process(target=_hold, args=(path, 1, [4], answer))
        third.start()
        assert probe.recv(), "row 4 was given back"
        probe.send(None)
        third.join()
        mine.send(None)
        other.join()
        assert locks.take(1, [5, 6]), "whoever ends gives everything back"
        locks.release(1, [4, 5])
        held = context.Process(target=_hold, args=(path, 1, [6], answer))
        held.start()
        assert not probe.recv(), "row 6 was not"
        probe.send(None)
        held.join()
        locks.release(1, [7])
        fourth = context.Process(target=_hold, args=(path, 1, [7], answer))
        fourth.start()
        assert probe.recv(), "row 7 was released"
        probe.send(None)
        fourth.join()
    assert row_locks._ROWS == 2**40


def test_runs_and_documents_in_memory() -> None:
    store = MemoryStore()
    key = replace(RunKey(*KEY), schema_sha256=SCHEMA.digest)
    documents = {SCHEMA.digest: SCHEMA.to_json()}
    assert store.begin(key, documents=documents, name="a", victim="v", model="m", data_sha256="1") == 1
    assert store.begin(key, documents={}, name="b", victim="w", model="m", data_sha256="1") == 1
    assert (store.run(1).name, store.run(1).victim) == ("b", "w")
    moved = replace(key, data="elsewhere")
    assert store.begin(moved, documents={}, name="a", victim="v", model="m", data_sha256="1") == 1, "the same content"
    assert store.begin(moved, documents={}, name="a", victim="v", model="m") == 2, "nothing says that it is the same"
    assert store.begin(replace(key, seed=1), documents={}, name="a", victim="v", model="m", data_sha256="1") == 3
    assert (store.run(3).rows, store.run(3).seconds, store.run(3).refused) == (0, 0.0, None)
    for number in (0, 4, -1):
        with pytest.raises(InputError, match=r"number of a run \(1\.\.3\)"):
            store.run(number)
    with pytest.raises(FileError, match="expected the document"):
        store.document("0" * 64)
    session = store.begin_session(1, {"torch": "x"})
    assert (session, store.sessions(1)[0].rows, store.sessions(1)[0].seconds) == (1, 0, 0.0)
    store.fail(1, [FailedRow(3, "late"), FailedRow(0, "died")])
    store.fail(1, [FailedRow(3, "again")])
    assert [(row.number, row.reason) for row in store.failures(1)] == [(0, "died"), (3, "again")]
    store.refuse(1, "too dear")
    assert store.add(1, session, rows(), SCHEMA, 4.0) == 2
    assert [row.number for row in store.failures(1)] == [3], "row 0 is recorded now"
    assert store.run(1).refused is None
    assert store.recorded(1, [1, 5]) == {1: True}


def test_a_file_that_is_not_the_one_that_was_opened_is_noticed(tmp_path: Path) -> None:
    for number, what in enumerate(("replaced", "deleted", "without its log")):
        path = tmp_path / str(number) / "results.sqlite"
        with closing(Database(path, create=True)) as database:
            with database.write() as connection:
                connection.execute("INSERT INTO documents VALUES ('a', '{}')")
            database.check_there()
            if what == "replaced":
                copy = tmp_path / "copy"
                copy.write_bytes(path.read_bytes())
                copy.rename(path)
            else:
                (path if what == "deleted" else path.with_name(f"{path.name}-wal")).unlink()
            with pytest.raises(FileError, match="deleted, moved or replaced"):
                database.check_there()
        if path.exists():
            with closing(Database(path, readonly=True)) as reader:
                reader.check_there()


def test_an_empty_database_becomes_a_store_and_a_damaged_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")  # writes a first page, without tables
    assert path.stat().st_size
    with closing(Database(path, create=True)) as database, database.read() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[40:44] = bytes(4)  # the schema's version: 0 means that there are no tables
    path.write_bytes(content)
    with pytest.raises(FileError, match="no schema"):
        Database(path)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_folder_or_nothing_is_no_store(readonly: bool, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(FileError, match="got no such file"):
            Database(place, readonly=readonly)
    assert list(tmp_path.iterdir()) == []


class Switching:
    """A connection whose switch to a log fails a few times first."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def execute(self, statement: str) -> "Switching":
        assert statement == "PRAGMA journal_mode = WAL"
        if self.codes:
            error = sqlite3.OperationalError("what SQLite says")
            error.sqlite_errorcode = self.codes.pop(0)
            raise error
        return self

    def fetchone(self) -> tuple[str]:
        return ("WAL",)


def test_a_file_that_another_process_switches_to_its_log_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(sqlite_file, "sleep", pauses.append)

    def switched(wait: float, *codes: int) -> bool:
        database = object.__new__(Database)
        database.connection = Switching(*codes)  # type: ignore[assignment]
        database._use_log(wait)
        return database._logs

    busy, longer = sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY | 2 << 8
    assert switched(60.0)
    assert pauses == []
    assert switched(60.0, busy, longer, busy)
    assert len(pauses) == 3
    assert 0 < max(pauses) < 0.5
    for wait, code in ((60.0, sqlite3.SQLITE_READONLY), (-1.0, busy)):
        with pytest.raises(sqlite3.OperationalError):
            switched(wait, code)


def test_edited_notes_of_failed_rows() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE seals (name TEXT PRIMARY KEY, records INT, digest TEXT, origin TEXT)")
        assert failure_damage(connection, 1) == []
        assert read_failures(connection, 1) == []
        put_failures(connection, 1, [FailedRow(7, "no answer"), FailedRow(3, "died")])
        put_failures(connection, 1, [FailedRow(7, "died too")])
        put_failures(connection, 2, [FailedRow(9, "died")])
        assert read_failures(connection, 1) == [FailedRow(3, "died"), FailedRow(7, "died too")]
        assert failure_damage(connection, 1) == failure_damage(connection, 2) == []
        clear_failures(connection, 1, [3, 5])
        assert read_failures(connection, 1) == [FailedRow(7, "died too")]
        assert failure_damage(connection, 1) == []
        connection.execute("UPDATE failures SET reason = 'fine' WHERE run = 1")
        assert failure_damage(connection, 1) == ["failed row 7: edited since it was noted"]
        connection.execute("DELETE FROM failures WHERE run = 1")
        (problem,) = failure_damage(connection, 1)
        assert "expected 1 records as sealed, got 0" in problem
        assert failure_damage(connection, 2) == []
