"""What the rows of each run add up to, kept beside them: runs of millions of rows are listed without reading a row.

Totals are written in the transaction that writes the rows, with the seal of the rows they are of. Whoever reads them
adds the rows up instead wherever something does not fit: another seal (a version that does not know the table has
written since), another checksum, other sums. The table is made with the first rows. A file without it is of the same
format.
"""

import sqlite3
from dataclasses import dataclass

import numpy as np

from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import COUNTS, RunTotals
from hammingbox.running.store.seals import checksum, rows_of
from hammingbox.running.store.sums import add_up_rows

_TABLE = """
CREATE TABLE IF NOT EXISTS totals (
    run INTEGER PRIMARY KEY REFERENCES runs, records INTEGER NOT NULL, digest TEXT NOT NULL, names TEXT NOT NULL,
    counts BLOB NOT NULL, checksum TEXT NOT NULL
)
"""
_NAMES = ",".join(COUNTS)
"""What is added up: totals of a version that adds up something else are of no use."""
_NUMBER = np.dtype("<i8")


@dataclass(frozen=True)
class Kept:
    """Totals of a run as its file keeps them.

    Attributes:
        values: run, records and digest of the seal, names and counts.
        checksum: of the values.
    """

    values: tuple[object, ...]
    checksum: str

    @property
    def is_whole(self) -> bool:
        """Whether nobody edited them."""
        return checksum(self.values) == self.checksum


def read_totals(connection: sqlite3.Connection, run: int, totals: RunTotals) -> bool:
    """Adds the kept totals of a run.

    Args:
        connection: to the file.
        run: its number.
        totals: of as many classes as the run's schema has.

    Returns:
        Whether there are any that can be relied on; nothing was added otherwise.
    """
    found = _kept(connection, run)
    if found is None or not found.is_whole or found.values[1:4] != (*(_seal(connection, run) or (0, "")), _NAMES):
        return False
    content = found.values[4]
    if not isinstance(content, bytes) or len(content) != totals.counts.size * _NUMBER.itemsize:
        return False
    counts = np.frombuffer(content, _NUMBER).reshape(totals.counts.shape)
    if counts.min(initial=0) < 0 or int(counts[:, 0].sum()) != found.values[1]:
        return False
    totals.counts += counts
    return True


def count_rows(connection: sqlite3.Connection, run: int) -> int:
    """How many rows a run has, by its kept totals, or counted."""
    found = _kept(connection, run)
    if found is not None and found.is_whole and found.values[1:3] == _seal(connection, run):
        records = found.values[1]
        if isinstance(records, int) and records >= 0:
            return records
    return int(connection.execute("SELECT count(*) FROM rows WHERE run = ?", (run,)).fetchone()[0])


def totals_before(connection: sqlite3.Connection, run: int, classes: int) -> RunTotals | None:
    """What the rows that a run has so far add up to; None if that was not kept."""
    found = RunTotals(classes)
    is_known = read_totals(connection, run, found)
    is_new = connection.execute("SELECT 1 FROM rows WHERE run = ? LIMIT 1", (run,)).fetchone() is None
    return found if is_known or is_new else None


def keep_totals(connection: sqlite3.Connection, run: int, before: RunTotals | None, new: Rows) -> bool:
    """Writes the totals of all rows that a run has now. The caller holds a transaction.

    Args:
        connection: to the file.
        run: its number.
        before: what the rows before the new ones add up to; None adds up all of them, once.
        new: rows that this transaction has written, and sealed.

    Returns:
        Whether there are totals now; there are none of damaged rows.
    """
    totals = before
    if totals is None:
        totals = RunTotals(new.clean_logits.shape[1])
        if add_up_rows(connection, run, totals):
            return False
    else:
        totals.add(new)
    connection.execute(_TABLE)
    counts = totals.counts.astype(_NUMBER).tobytes()
    values = (run, *(_seal(connection, run) or (0, "")), _NAMES, counts)
    connection.execute("INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?, ?, ?)", (*values, checksum(values)))
    return True


def totals_damage(connection: sqlite3.Connection, run: int) -> list[str]:
    """What does not fit between the kept totals of a run and its rows."""
    found = _kept(connection, run)
    if found is None:
        return []
    content = found.values[4]
    if not found.is_whole or not isinstance(content, bytes):
        return [f"totals of run {run}: edited since they were written"]
    classes = len(content) // (len(COUNTS) * _NUMBER.itemsize)
    kept, true = RunTotals(classes), RunTotals(classes)
    if not read_totals(connection, run, kept) or add_up_rows(connection, run, true):
        return []  # rows are added up by whoever reads them; damaged ones are named elsewhere
    return [] if np.array_equal(kept.counts, true.counts) else [f"totals of run {run}: not those of its rows"]


def _kept(connection: sqlite3.Connection, run: int) -> Kept | None:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'totals'").fetchone() is None:
        return None
    found = connection.execute(
        "SELECT run, records, digest, names, counts, checksum FROM totals WHERE run = ?", (run,)
    ).fetchone()
    return None if found is None else Kept(tuple(found[:5]), str(found[5]))


def _seal(connection: sqlite3.Connection, run: int) -> tuple[int, str] | None:
    """Number and sum of the checksums of a run's rows."""
    found = connection.execute("SELECT records, digest FROM seals WHERE name = ?", (rows_of(run),)).fetchone()
    return None if found is None else (found[0], found[1])
