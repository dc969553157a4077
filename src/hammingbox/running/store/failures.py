"""Rows that nobody could compute, in a table of their own: no records, and tried again when the run goes on.

The table is made with the first failure. A file without it is of the same format, and versions that do not know it
read the records all the same.
"""

import json
import sqlite3
from collections.abc import Sequence

from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.running.store.seals import against_seal, change_seal, checksum

_TABLE = """
CREATE TABLE IF NOT EXISTS failures (
    run INTEGER NOT NULL REFERENCES runs, number INTEGER NOT NULL, reason TEXT NOT NULL, checksum TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID
"""


def put_failures(connection: sqlite3.Connection, run: int, failed: Sequence[FailedRow]) -> None:
    """Notes rows that failed; one that failed before is noted with its new reason. The caller holds a transaction."""
    connection.execute(_TABLE)
    clear_failures(connection, run, [row.number for row in failed])
    sums = [checksum((run, row.number, row.reason)) for row in failed]
    connection.executemany(
        "INSERT INTO failures VALUES (?, ?, ?, ?)",
        [(run, row.number, row.reason, digest) for row, digest in zip(failed, sums, strict=True)],
    )
    change_seal(connection, _name(run), more=sums)


def clear_failures(connection: sqlite3.Connection, run: int, numbers: Sequence[int]) -> None:
    """Forgets the failures of rows that are recorded now. The caller holds a transaction."""
    if not _has_table(connection):
        return
    among = "run = ? AND number IN (SELECT value FROM json_each(?))"
    values = (run, json.dumps(list(numbers)))
    sums = [digest for (digest,) in connection.execute(f"SELECT checksum FROM failures WHERE {among}", values)]
    if sums:
        connection.execute(f"DELETE FROM failures WHERE {among}", values)
        change_seal(connection, _name(run), less=sums)


def read_failures(connection: sqlite3.Connection, run: int) -> list[FailedRow]:
    """The failed rows of a run, in the order of their numbers."""
    if not _has_table(connection):
        return []
    found = connection.execute("SELECT number, reason FROM failures WHERE run = ? ORDER BY number", (run,)).fetchall()
    return [FailedRow(int(number), str(reason)) for number, reason in found]


def failure_damage(connection: sqlite3.Connection, run: int) -> list[str]:
    """What does not fit the checksums and the seal of a run's failures."""
    problems, sums = [], []
    found = []
    if _has_table(connection):
        found = connection.execute("SELECT number, reason, checksum FROM failures WHERE run = ?", (run,)).fetchall()
    for number, reason, recorded in found:
        sums.append(str(recorded))
        if checksum((run, number, reason)) != recorded:
            problems.append(f"failed row {number}: edited since it was noted")
    return [*problems, *against_seal(connection, _name(run), sums)]


def _name(run: int) -> str:
    return f"failures of run {run}"


def _has_table(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'failures'").fetchone() is not None
