"""Checksums of records, and seals of the sets they form, so that an edited file of results is noticed.

Every run, session, document and row has a checksum of its content. A seal holds, for all records of a kind (for all
rows of one run), how many there are and the sum of their checksums. It grows with every record, in the transaction
that writes the record, whatever the order. So a record that was edited, deleted, added or copied from elsewhere does
not fit its checksum or its seal.

There is no secret in it: whoever recomputes checksums and seals can write a file that fits. Then only `verify` helps,
which recomputes what the records claim from the data and the victim.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

_SIZE = 2**256
NOTHING = "0" * 64
"""The sum of no checksums."""

RUN = (
    "id", "data", "split", "schema_sha256", "space_sha256", "goal_sha256", "victim_sha256", "defence", "attack",
    "budget", "seed", "name", "victim", "model", "created", "refused", "data_sha256", "source",
)  # fmt: skip
SESSION = ("id", "run", "started", "updated", "rows", "seconds", "environment")
ROW = (
    "run", "number", "label", "correct", "attacked", "success", "distance", "margin", "forward", "backward", "stage",
    "proven", "clean", "adversarial", "clean_logits", "logits",
)  # fmt: skip
"""The columns that a checksum covers, in their order."""

RECORDED, MIGRATED = "recorded", "migrated"
"""Where a seal comes from: it grew with its records, or was made when a file of an earlier format was migrated."""


def checksum(values: Iterable[Any]) -> str:
    """The hash of a record: of each value's type, length and content, so that no two records look the same."""
    digest = sha256()
    for value in values:
        if isinstance(value, bytes):
            kind, content = b"b", value
        elif isinstance(value, str):
            kind, content = b"s", value.encode("utf-8", "surrogatepass")
        else:
            kind, content = type(value).__name__[:1].encode(), repr(value).encode()
        digest.update(kind + str(len(content)).encode() + b":")
        digest.update(content)
    return digest.hexdigest()


def add_up(digest: str, more: Iterable[str] = (), less: Iterable[str] = ()) -> str:
    """The sum of checksums after some came and some went."""
    total = int(digest, 16) + sum(int(part, 16) for part in more) - sum(int(part, 16) for part in less)
    return f"{total % _SIZE:064x}"


def rows_of(run: int) -> str:
    """The name of the seal of a run's rows."""
    return f"rows of run {run}"


def change_seal(
    connection: sqlite3.Connection, name: str, *, more: Sequence[str] = (), less: Sequence[str] = ()
) -> None:
    """Lets a seal grow by some checksums, or replaces some by others. The caller holds a transaction."""
    found = connection.execute("SELECT records, digest FROM seals WHERE name = ?", (name,)).fetchone()
    records, digest = found or (0, NOTHING)
    values = (records + len(more) - len(less), add_up(digest, more, less))
    if found is None:
        connection.execute("INSERT INTO seals VALUES (?, ?, ?, ?)", (name, *values, RECORDED))
    else:
        connection.execute("UPDATE seals SET records = ?, digest = ? WHERE name = ?", (*values, name))


def change_record(connection: sqlite3.Connection, table: str, key: int, change: str, values: Sequence[Any]) -> None:
    """Updates a run or a session and its checksum. One that was edited by others keeps the checksum it does not fit.

    Args:
        connection: inside a transaction.
        table: "runs" or "sessions".
        key: its number.
        change: the SET clause.
        values: for it.
    """
    columns = RUN if table == "runs" else SESSION
    select = f"SELECT {', '.join(columns)}, checksum FROM {table} WHERE id = ?"
    *before, old = connection.execute(select, (key,)).fetchone()
    connection.execute(f"UPDATE {table} SET {change} WHERE id = ?", (*values, key))
    *after, _ = connection.execute(select, (key,)).fetchone()
    if after == before or checksum(before) != old:
        return
    new = checksum(after)
    connection.execute(f"UPDATE {table} SET checksum = ? WHERE id = ?", (new, key))
    change_seal(connection, table, more=[new], less=[old])


def seal_record(connection: sqlite3.Connection, table: str, key: int) -> None:
    """Gives a new run or session its checksum."""
    columns = RUN if table == "runs" else SESSION
    values = connection.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", (key,)).fetchone()
    new = checksum(values)
    connection.execute(f"UPDATE {table} SET checksum = ? WHERE id = ?", (new, key))
    change_seal(connection, table, more=[new])


def seal_everything(connection: sqlite3.Connection) -> None:
    """Gives checksums and seals to all records of a file that had none. They say nothing about what was before."""
    for table, columns, keys in (("runs", RUN, "id"), ("sessions", SESSION, "id"), ("rows", ROW, "run, number")):
        sums: dict[str, list[str]] = {} if table == "rows" else {table: []}
        size = len(keys.split(","))
        for *key, rest in (
            (*found[:size], found[size:])
            for found in connection.execute(f"SELECT {keys}, {', '.join(columns)} FROM {table}").fetchall()
        ):
            new = checksum(rest)
            sums.setdefault(rows_of(key[0]) if table == "rows" else table, []).append(new)
            where = " AND ".join(f"{name.strip()} = ?" for name in keys.split(","))
            connection.execute(f"UPDATE {table} SET checksum = ? WHERE {where}", (new, *key))
        for name, found_sums in sums.items():
            _put_migrated(connection, name, found_sums)
    documents = connection.execute("SELECT digest, json FROM documents").fetchall()
    _put_migrated(connection, "documents", [checksum(document) for document in documents])


def _put_migrated(connection: sqlite3.Connection, name: str, sums: list[str]) -> None:
    values = (name, len(sums), add_up(NOTHING, sums), MIGRATED)
    connection.execute("INSERT OR REPLACE INTO seals VALUES (?, ?, ?, ?)", values)


def store_damage(connection: sqlite3.Connection) -> list[str]:
    """What does not fit the checksums of runs, sessions and documents, or the seals of these sets."""
    problems = []
    for table, columns in (("runs", RUN), ("sessions", SESSION)):
        sums = []
        for *values, recorded in connection.execute(f"SELECT {', '.join(columns)}, checksum FROM {table}").fetchall():
            sums.append(str(recorded))
            if checksum(values) != recorded:
                problems.append(f"{table[:-1]} {values[0]}: edited since it was recorded")
        problems += against_seal(connection, table, sums)
    documents = connection.execute("SELECT digest, json FROM documents").fetchall()
    problems += against_seal(connection, "documents", [checksum(document) for document in documents])
    known = {rows_of(run) for (run,) in connection.execute("SELECT id FROM runs").fetchall()}
    for (name,) in connection.execute("SELECT name FROM seals WHERE name LIKE 'rows of run %'").fetchall():
        if name not in known:
            problems.append(f"{name}: sealed, but there is no such run")
    for (run,) in connection.execute("SELECT DISTINCT run FROM rows").fetchall():
        if rows_of(run) not in known:
            problems.append(f"{rows_of(run)}: recorded, but there is no such run")
    return problems


def run_damage(connection: sqlite3.Connection, run: int) -> list[str]:
    """What does not fit the checksums of a run's rows, their seal, or the number of rows of its sessions."""
    problems, sums = [], Sums()
    for *values, recorded in connection.execute(f"SELECT {', '.join(ROW)}, checksum FROM rows WHERE run = ?", (run,)):
        sums.add(str(recorded))
        if checksum(values) != recorded:
            problems.append(f"row {values[1]}: edited since it was recorded")
    problems += against_seal(connection, rows_of(run), sums)
    noted = connection.execute("SELECT total(rows) FROM sessions WHERE run = ?", (run,)).fetchone()[0]
    if noted != sums.records:
        problems.append(f"expected {noted:.0f} rows as the sessions of the run say, got {sums.records}")
    return problems


def is_migrated(connection: sqlite3.Connection, run: int) -> bool:
    """Whether rows of a run were sealed only when the file was migrated."""
    found = connection.execute("SELECT origin FROM seals WHERE name = ?", (rows_of(run),)).fetchone()
    return found is not None and found[0] == MIGRATED


class Sums:
    """The number and the sum of checksums, without holding them.

    Args:
        sums: the first ones.
    """

    def __init__(self, sums: Iterable[str] = ()) -> None:
        self.records, self._total, self._is_damaged = 0, 0, False
        for part in sums:
            self.add(part)

    def add(self, part: str) -> None:
        """Adds a checksum."""
        self.records += 1
        try:
            self._total += int(part, 16)
        except ValueError:
            self._is_damaged = True

    @property
    def digest(self) -> str | None:
        """As a seal holds it; None where something else than checksums was added."""
        return None if self._is_damaged else f"{self._total % _SIZE:064x}"


def against_seal(connection: sqlite3.Connection, name: str, sums: Sums | Iterable[str]) -> list[str]:
    """What does not fit the seal of a set of records, given their checksums, or what these add up to."""
    found = sums if isinstance(sums, Sums) else Sums(sums)
    sealed = connection.execute("SELECT records, digest FROM seals WHERE name = ?", (name,)).fetchone()
    if sealed is None:
        return [f"{name}: expected a seal, got none"] if found.records else []
    records, digest = sealed
    if records != found.records:
        return [f"{name}: expected {records} records as sealed, got {found.records}: some were deleted or added"]
    return [] if found.digest == digest else [f"{name}: expected the records that were sealed, got others"]
