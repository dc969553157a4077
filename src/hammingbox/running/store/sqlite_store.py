"""The store on disk: one SQLite file per results folder, safe under several writers and `kill -9`."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.files import parse_json
from hammingbox.running.store.blobs import blobs_to_ids, blobs_to_logits, ids_to_blobs, logits_to_blobs
from hammingbox.running.store.checked import check_rows, check_values, checked_run, checked_session
from hammingbox.running.store.failures import clear_failures, failure_damage, put_failures, read_failures
from hammingbox.running.store.kept_totals import count_rows, keep_totals, read_totals, totals_before, totals_damage
from hammingbox.running.store.records import Run, RunKey, Session
from hammingbox.running.store.row_locks import FileLocks, RowLocks
from hammingbox.running.store.seals import (
    ROW,
    change_record,
    change_seal,
    checksum,
    is_migrated,
    rows_of,
    run_damage,
    seal_record,
    store_damage,
)
from hammingbox.running.store.sqlite_file import Database
from hammingbox.running.store.store import Store, document_digest, document_text, now
from hammingbox.running.store.sums import add_up_rows

FILE = "results.sqlite"
_KEY = tuple(field.name for field in fields(RunKey))
_NUMBERS = ("number", "label", "correct", "attacked", "success", "distance", "margin", "forward", "backward", "stage",
            "proven")  # fmt: skip
_BLOBS = ("clean", "adversarial", "clean_logits", "logits")


class SQLiteStore(Store):
    """Runs and their rows in an SQLite file; every write is one transaction. Open it with `open_store`."""

    path: Path

    def __init__(self, database: Database) -> None:
        self._database = database
        self.path = database.path
        self._schemas: dict[int, Schema] = {}
        self._without_totals: set[int] = set()

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def snapshot(self) -> AbstractContextManager[None]:
        """Inside it, runs and rows are of one moment, whatever is recorded meanwhile."""
        return self._database.snapshot()

    def row_locks(self) -> RowLocks:
        """Locks in a file beside the store."""
        return FileLocks(self.path)

    def check_there(self) -> None:
        """Checks that the file is still the one that was opened."""
        self._database.check_there()

    def damage(self, run: int | None = None) -> list[str]:
        """What does not fit the checksums and seals of a run's rows, or of everything else without a number."""
        with self._database.read() as connection:
            if run is None:
                return store_damage(connection)
            return [
                *run_damage(connection, run),
                *failure_damage(connection, run),
                *totals_damage(connection, run),
            ]

    def is_migrated(self, run: int) -> bool:
        """Whether rows of a run were sealed only when the file was migrated."""
        with self._database.read() as connection:
            return is_migrated(connection, run)

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        return self._runs("")

    def run_numbers(self) -> list[int]:
        """The numbers of all runs, oldest first, also of runs whose other values are damaged."""
        with self._database.read() as connection:
            return [number for (number,) in connection.execute("SELECT id FROM runs ORDER BY id").fetchall()]

    def run(self, number: int) -> Run:
        """One run.

        Raises:
            InputError: the store has no such run.
        """
        found = self._runs("WHERE runs.id = ?", number) if abs(number) < 2**63 else []
        if not found:
            raise InputError(
                f"expected the number of a run in {self.path}, got {number}. See `hammingbox results list`."
            )
        return found[0]

    def _runs(self, condition: str, *values: int) -> list[Run]:
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT runs.id, {', '.join(_KEY)}, name, victim, model, created, refused, "
                "(SELECT total(seconds) FROM sessions WHERE sessions.run = runs.id), data_sha256, source "
                f"FROM runs {condition} ORDER BY id",
                values,
            ).fetchall()
            rows = [count_rows(connection, number) for number, *_ in found]
        at = len(_KEY) + 5
        return [
            checked_run(number, [*rest[:at], count, *rest[at:]], self.path)
            for (number, *rest), count in zip(found, rows, strict=True)
        ]

    def sessions(self, run: int) -> list[Session]:
        """The sessions of a run, oldest first."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT started, updated, rows, seconds, environment FROM sessions WHERE run = ? ORDER BY id", (run,)
            ).fetchall()
        return [checked_session(values, self.document(environment), self.path) for *values, environment in found]

    def document(self, digest: str) -> Any:
        """A JSON document.

        Raises:
            FileError: the store does not have it.
        """
        with self._database.read() as connection:
            found = connection.execute("SELECT json FROM documents WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            raise FileError(f"expected the document {digest[:12]} in {self.path}, got none. The store is damaged.")
        return parse_json(
            found[0] if isinstance(found[0], str | bytes) else "", f"the document {digest[:12]} of {self.path}"
        )

    def recorded(self, run: int, numbers: Sequence[int]) -> dict[int, bool]:
        """Which of these rows are recorded, and whether they were broken."""
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT number, success FROM rows WHERE run = ? AND {_AMONG}", (run, json.dumps(list(numbers)))
            )
            return {number: bool(success) for number, success in found}

    def totals(self, run: int) -> RunTotals:
        """What the records of a run add up to, added up by SQLite.

        Raises:
            FileError: a record does not fit the run's schema.
        """
        found = RunTotals(len(self._schema_of(run).classes))
        with self._database.read() as connection:
            wrong = add_up_rows(connection, run, found)
        if wrong:  # the rows say what is damaged
            for _ in self.blocks(run):
                pass
            raise FileError(f"expected whole records in {self.path}, got damaged rows of run {run}.")
        return found

    def known_totals(self, run: int) -> RunTotals:
        """The totals that were kept with the records; added up by SQLite where none that fit were kept."""
        found = RunTotals(len(self._schema_of(run).classes))
        with self._database.read() as connection:
            is_known = read_totals(connection, run, found)
        return found if is_known else self.totals(run)

    def broken(self, run: int, most: int) -> list[int]:
        """The first numbers of rows that a run broke."""
        select = "SELECT number FROM rows WHERE run = ? AND success = 1 ORDER BY number LIMIT ?"
        with self._database.read() as connection:
            return [int(number) for (number,) in connection.execute(select, (run, most))]

    def rows(self, run: int, numbers: Sequence[int] | None = None, *, above: int = -1, most: int | None = None) -> Rows:
        """The records of a run, or those of some rows that are there, in the order of their numbers.

        Raises:
            FileError: a record does not fit the run's schema.
        """
        columns = (*_NUMBERS, *_BLOBS)
        # A number below 0 is damage, which must be read to be noticed.
        condition, values = "", list[Any]([run])
        if above >= 0:
            condition, values = "AND number > ?", [run, above]
        if numbers is not None:
            condition, values = f"{condition} AND {_AMONG}", [*values, json.dumps(list(numbers))]
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT {', '.join(columns)} FROM rows WHERE run = ? {condition} ORDER BY number LIMIT ?",
                (*values, -1 if most is None else most),
            ).fetchall()
        table: list[Any] = [list(c) for c in zip(*found, strict=True)] if found else [[] for _ in columns]
        value = dict(zip(columns, table, strict=True))
        schema = self._schema_of(run)
        check_values(value, _BLOBS, self.path)
        try:
            rows = Rows(
                numbers=_whole(value["number"]),
                labels=_whole(value["label"]),
                clean=blobs_to_ids(value["clean"], len(schema.features)),
                adversarial=blobs_to_ids(value["adversarial"], len(schema.features)),
                clean_logits=blobs_to_logits(value["clean_logits"], len(schema.classes)),
                logits=blobs_to_logits(value["logits"], len(schema.classes)),
                correct=_mask(value["correct"]),
                attacked=_mask(value["attacked"]),
                success=_mask(value["success"]),
                distance=_whole(value["distance"]),
                margin=torch.tensor(value["margin"], dtype=torch.float32),
                forward=_whole(value["forward"]),
                backward=_whole(value["backward"]),
                stage=_whole(value["stage"]),
                proven=_mask(value["proven"]),
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise FileError(
                f"expected rows of the run's schema in {self.path}, got {error}. See `hammingbox verify`."
            ) from error
        check_rows(rows, schema, self.path)
        return rows

    def _schema_of(self, run: int) -> Schema:
        """What the ids of a run mean. It is kept: rows of large runs are read in many parts."""
        if run not in self._schemas:
            self._schemas = {run: self.schema(self.run(run))}
        return self._schemas[run]

    def begin(
        self,
        key: RunKey,
        *,
        documents: Mapping[str, Any],
        name: str,
        victim: str,
        model: str,
        data_sha256: str = "",
        source: str = "",
    ) -> int:
        """The number of the run with this key; a new one when there is none."""
        values = astuple(key)
        with self._database.write() as connection:
            for digest, document in documents.items():
                _put_document(connection, digest, document)
            found = _find_run(connection, key, data_sha256)
            if found is None:
                made = connection.execute(
                    f"INSERT INTO runs ({', '.join(_KEY)}, name, victim, model, created, data_sha256, source) "
                    f"VALUES ({', '.join('?' * (len(_KEY) + 6))})",
                    (*values, name, victim, model, now(), data_sha256, source),
                )
                found = int(made.lastrowid or 0)
                seal_record(connection, "runs", found)
            else:
                # The same weights and the same data may have moved: where they are now is what a reader needs.
                change_record(connection, "runs", found, "victim = ?, name = ?", (victim, name))
                if data_sha256 or source:
                    change_record(connection, "runs", found, "data_sha256 = ?, source = ?", (data_sha256, source))
        return found

    def begin_session(self, run: int, environment: dict[str, Any]) -> int:
        """Notes that somebody starts or continues a run."""
        digest = document_digest(environment)
        with self._database.write() as connection:
            _put_document(connection, digest, environment)
            made = connection.execute(
                "INSERT INTO sessions (run, started, updated, rows, seconds, environment) VALUES (?, ?, ?, 0, 0, ?)",
                (run, now(), now(), digest),
            )
            session = int(made.lastrowid or 0)
            seal_record(connection, "sessions", session)
        return session

    def refuse(self, run: int, reason: str) -> None:
        """Notes that the attack refused to run."""
        with self._database.write() as connection:
            change_record(connection, "runs", run, "refused = ?", (reason,))

    def fail(self, run: int, failed: Sequence[FailedRow]) -> None:
        """Notes rows that nobody could compute."""
        with self._database.write() as connection:
            put_failures(connection, run, failed)

    def failures(self, run: int) -> list[FailedRow]:
        """Rows that could not be computed and have not been recorded since, in the order of their numbers."""
        with self._database.read() as connection:
            return read_failures(connection, run)

    def add(self, run: int, session: int, rows: Rows, schema: Schema, seconds: float) -> int:
        """Records a batch in one transaction; a row that another writer recorded meanwhile is left as it is.

        Returns:
            How many rows were new.

        Raises:
            FileError: the disk is full or the file damaged; nothing of this batch was recorded.
        """
        largest = max(schema.cardinalities) - 1
        records = zip(
            [run] * len(rows), rows.numbers.tolist(), rows.labels.tolist(), rows.correct.int().tolist(),
            rows.attacked.int().tolist(), rows.success.int().tolist(), rows.distance.tolist(), rows.margin.tolist(),
            rows.forward.tolist(), rows.backward.tolist(), rows.stage.tolist(), rows.proven.int().tolist(),
            ids_to_blobs(rows.clean, largest), ids_to_blobs(rows.adversarial, largest),
            logits_to_blobs(rows.clean_logits), logits_to_blobs(rows.logits),
            strict=True,
        )  # fmt: skip
        with self._database.write() as connection:
            numbers = json.dumps(rows.numbers.tolist())
            known = {
                number
                for (number,) in connection.execute(
                    f"SELECT number FROM rows WHERE run = ? AND {_AMONG}", (run, numbers)
                )
            }
            new = [record for record in records if record[1] not in known]
            before = totals_before(connection, run, len(schema.classes))
            sums = [checksum(record) for record in new]
            connection.executemany(
                f"INSERT INTO rows ({', '.join(ROW)}, checksum) VALUES ({', '.join('?' * (len(ROW) + 1))})",
                [(*record, digest) for record, digest in zip(new, sums, strict=True)],
            )
            if new:
                change_seal(connection, rows_of(run), more=sums)
                is_new = torch.tensor([number not in known for number in rows.numbers.tolist()])
                if run not in self._without_totals and not keep_totals(connection, run, before, rows.take(is_new)):
                    self._without_totals.add(run)  # of damaged rows: not to be added up again after every batch
            clear_failures(connection, run, rows.numbers.tolist())
            change_record(
                connection, "sessions", session, "updated = ?, rows = rows + ?, seconds = seconds + ?",
                (now(), len(new), seconds * len(new) / max(len(rows), 1)),
            )  # fmt: skip
            change_record(connection, "runs", run, "refused = ?", (None,))
        return len(new)


_AMONG = "number IN (SELECT value FROM json_each(?))"


def _put_document(connection: sqlite3.Connection, digest: str, value: Any) -> None:
    """Writes a JSON document once, whatever number of runs share it."""
    if connection.execute("SELECT 1 FROM documents WHERE digest = ?", (digest,)).fetchone() is None:
        document = (digest, document_text(value))
        connection.execute("INSERT INTO documents VALUES (?, ?)", document)
        change_seal(connection, "documents", more=[checksum(document)])


def _find_run(connection: sqlite3.Connection, key: RunKey, data_sha256: str) -> int | None:
    """The run with this key, or with this key but for the path of an own file of the same content.

    Raises:
        InputError: the file at this path had another content.
    """
    rest = " AND ".join(f"{column} = ?" for column in _KEY[1:])
    select = f"SELECT id, data_sha256 FROM runs WHERE {rest} AND "
    values = astuple(key)[1:]
    found = connection.execute(f"{select} data = ?", (*values, key.data)).fetchone()
    if found is not None and data_sha256 and found[1] not in ("", data_sha256):
        raise InputError(
            f"expected {key.data} as it was when run {found[0]} was recorded, got another content. "
            "The data has changed since: use another results folder."
        )
    if found is None and data_sha256:
        found = connection.execute(f"{select} data_sha256 = ? ORDER BY id", (*values, data_sha256)).fetchone()
    return None if found is None else int(found[0])


def _whole(values: Iterable[Any]) -> torch.Tensor:
    found = list(values)
    if set(map(type, found)) - {int}:
        raise ValueError("something else than a whole number")
    return torch.tensor(found, dtype=torch.int64)


def _mask(values: Iterable[Any]) -> torch.Tensor:
    found = list(values)
    if set(found) - {0, 1}:
        raise ValueError("something else than yes or no")
    return torch.tensor(found, dtype=torch.bool)
