"""The run store: one SQLite file a results folder, one record a row, safe under several writers and `kill -9`."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.evaluation.rows import Rows
from hammingbox.files import sha256
from hammingbox.running.store.blobs import ids_to_blobs, logits_to_blobs
from hammingbox.running.store.database import Database
from hammingbox.running.store.reader import ANY, BLOBS, KEY, NUMBERS, Reader
from hammingbox.running.store.records import RunKey
from hammingbox.threat.space import Space

FILE = "results.sqlite"


class Store(Reader):
    """Runs and their rows. Open it with `Store.open`; use it as a context manager or close it."""

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False, wait: float = 60.0, readonly: bool = False) -> "Store":
        """Opens a store.

        Args:
            path: the file, or the results folder it lies in.
            create: make it when it is not there.
            wait: seconds to wait for other writers.
            readonly: only read, which needs no permission to write and does not search the file for damage first.

        Raises:
            FileError: missing, damaged, another program's, or written by a newer version.
        """
        path = Path(path)
        file = path if path.suffix == ".sqlite" else path / FILE
        return cls(Database(file, create=create, wait=wait, readonly=readonly))

    def __enter__(self) -> "Store":
        return self

    def begin(self, key: RunKey, *, schema: Schema, space: Space, name: str, victim: str, model: str) -> int:
        """The number of the run with this key; a new one when there is none."""
        values = (*astuple(key)[:-1], ANY if key.target is None else key.target)
        with self._database.write() as connection:
            _put_document(connection, key.schema_sha256, schema.to_json)
            _put_document(connection, key.space_sha256, space.to_json)
            connection.execute(
                f"INSERT INTO runs ({', '.join(KEY)}, name, victim, model, created) "
                f"VALUES ({', '.join('?' * (len(KEY) + 4))}) ON CONFLICT ({', '.join(KEY)}) DO NOTHING",
                (*values, name, victim, model, _now()),
            )
            found = connection.execute(
                f"SELECT id FROM runs WHERE {' AND '.join(f'{column} = ?' for column in KEY)}", values
            ).fetchone()[0]
            # The same weights may have moved: where they are now is what a reader needs.
            connection.execute("UPDATE runs SET victim = ?, name = ? WHERE id = ?", (victim, name, found))
        return int(found)

    def begin_session(self, run: int, environment: dict[str, Any]) -> int:
        """Notes that somebody starts or goes on with a run."""
        text = json.dumps(environment, sort_keys=True)
        digest = sha256(text.encode())
        with self._database.write() as connection:
            _put_document(connection, digest, lambda: environment)
            return int(
                connection.execute(
                    "INSERT INTO sessions (run, started, updated, rows, seconds, environment) "
                    "VALUES (?, ?, ?, 0, 0, ?)",
                    (run, _now(), _now(), digest),
                ).lastrowid
                or 0
            )

    def refuse(self, run: int, reason: str) -> None:
        """Notes that the attack refused to run."""
        with self._database.write() as connection:
            connection.execute("UPDATE runs SET refused = ? WHERE id = ?", (reason, run))

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
            rows.success.int().tolist(), rows.distance.tolist(), rows.margin.tolist(), rows.forward.tolist(),
            rows.backward.tolist(), rows.stage.tolist(), ids_to_blobs(rows.clean, largest),
            ids_to_blobs(rows.adversarial, largest), logits_to_blobs(rows.clean_logits), logits_to_blobs(rows.logits),
            strict=True,
        )  # fmt: skip
        columns = ("run", *NUMBERS, *BLOBS)
        with self._database.write() as connection:
            before = connection.total_changes
            connection.executemany(
                f"INSERT INTO rows ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
                "ON CONFLICT (run, number) DO NOTHING",
                records,
            )
            new = connection.total_changes - before
            connection.execute(
                "UPDATE sessions SET updated = ?, rows = rows + ?, seconds = seconds + ? WHERE id = ?",
                (_now(), new, seconds * new / max(len(rows), 1), session),
            )
            connection.execute("UPDATE runs SET refused = NULL WHERE id = ? AND refused IS NOT NULL", (run,))
        return new


def _put_document(connection: sqlite3.Connection, digest: str, value: Callable[[], Any]) -> None:
    """Writes a JSON document once, whatever number of runs share it."""
    if connection.execute("SELECT 1 FROM documents WHERE digest = ?", (digest,)).fetchone() is None:
        text = json.dumps(value(), ensure_ascii=False, sort_keys=True)
        connection.execute("INSERT INTO documents VALUES (?, ?)", (digest, text))


def space_digest(space: Space) -> str:
    """Identifies S(x): equal digests allow equal changes.

    Raises:
        InputError: nothing tells this space from others.
    """
    space.check_identity()
    return sha256(json.dumps(space.to_json(), ensure_ascii=False, sort_keys=True).encode())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
