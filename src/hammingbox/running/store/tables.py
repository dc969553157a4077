"""The tables of a store's file, and how a file of an earlier format becomes one of this format.

Format 1 (version 0.1) named one target class per run in place of a goal, and did not keep proofs. Format 2 had no
checksums, and did not note where a user's own data was and what it held.
"""

import json
import sqlite3

from hammingbox.files import damage_as_file_error
from hammingbox.running.store.seals import seal_everything
from hammingbox.running.store.store import document_digest, document_text

FORMAT = 3
_ANY = {"kind": "any_other"}

_RUNS = """
CREATE TABLE {name} (
    id INTEGER PRIMARY KEY,
    data TEXT NOT NULL, split TEXT NOT NULL, schema_sha256 TEXT NOT NULL REFERENCES documents,
    space_sha256 TEXT NOT NULL REFERENCES documents, goal_sha256 TEXT NOT NULL REFERENCES documents,
    victim_sha256 TEXT NOT NULL, defence TEXT NOT NULL,
    attack TEXT NOT NULL, budget INTEGER NOT NULL, seed INTEGER NOT NULL,
    name TEXT NOT NULL, victim TEXT NOT NULL, model TEXT NOT NULL, created TEXT NOT NULL, refused TEXT,
    data_sha256 TEXT NOT NULL DEFAULT '', source TEXT NOT NULL DEFAULT '', checksum TEXT NOT NULL DEFAULT '',
    UNIQUE (data, split, schema_sha256, space_sha256, goal_sha256, victim_sha256, defence, attack, budget, seed)
)
"""

_SEALS = """
CREATE TABLE seals (
    name TEXT PRIMARY KEY, records INTEGER NOT NULL, digest TEXT NOT NULL, origin TEXT NOT NULL
) WITHOUT ROWID
"""

_TABLES = (
    "CREATE TABLE documents (digest TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID",
    _RUNS.format(name="runs"),
    """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs,
    started TEXT NOT NULL, updated TEXT NOT NULL, rows INTEGER NOT NULL, seconds REAL NOT NULL,
    environment TEXT NOT NULL REFERENCES documents,
    checksum TEXT NOT NULL DEFAULT ''
)
""",
    """
CREATE TABLE rows (
    run INTEGER NOT NULL REFERENCES runs, number INTEGER NOT NULL,
    label INTEGER NOT NULL, correct INTEGER NOT NULL, success INTEGER NOT NULL, distance INTEGER NOT NULL,
    margin REAL NOT NULL, forward INTEGER NOT NULL, backward INTEGER NOT NULL, stage INTEGER NOT NULL,
    clean BLOB NOT NULL, adversarial BLOB NOT NULL, clean_logits BLOB NOT NULL, logits BLOB NOT NULL,
    attacked INTEGER NOT NULL DEFAULT 0, proven INTEGER NOT NULL DEFAULT 0,
    checksum TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, number)
) WITHOUT ROWID
""",
    _SEALS,
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables of an empty file. The caller holds a transaction."""
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Brings the tables of an earlier format to this one. The caller holds a transaction, so it happens whole or not.

    Raises:
        sqlite3.Error: the file is damaged or the disk is full.
    """
    if version == 1:
        _from_1_to_2(connection)
    if version <= 2:
        _from_2_to_3(connection)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _from_1_to_2(connection: sqlite3.Connection) -> None:
    goals = _goals_of_targets(connection)
    connection.execute(_RUNS.format(name="runs_2"))
    columns = (
        "id, data, split, schema_sha256, space_sha256, {goal}, victim_sha256, defence, attack, budget, seed, "
        "name, victim, model, created, refused"
    )
    for (schema, target), digest in goals.items():
        connection.execute(
            f"INSERT INTO runs_2 ({columns.format(goal='goal_sha256')}) SELECT {columns.format(goal='?')} FROM runs "
            "WHERE schema_sha256 = ? AND target = ?",
            (digest, schema, target),
        )
    for name in ("attacked", "proven"):
        connection.execute(f"ALTER TABLE rows ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")
    # A row of the target's own class was not attacked; no class has the number -1.
    connection.execute(
        "UPDATE rows SET attacked = 1 WHERE correct = 1 AND label != (SELECT target FROM runs WHERE runs.id = rows.run)"
    )
    # Enumeration without a query limit tried every point of the rows it did not break: these are proofs.
    connection.execute(
        "UPDATE rows SET proven = 1 WHERE attacked = 1 AND success = 0 AND run IN (SELECT id FROM runs WHERE "
        "attack LIKE '%queries=None%' AND budget > 0 AND ((attack LIKE 'Exhaustive(%' AND attack LIKE '%skip=False%') "
        "OR (attack LIKE 'Auto(%' AND budget = 1)))"
    )
    connection.execute("DROP TABLE runs")
    connection.execute("ALTER TABLE runs_2 RENAME TO runs")


def _from_2_to_3(connection: sqlite3.Connection) -> None:
    present = {name for _, name, *_ in connection.execute("PRAGMA table_info(runs)").fetchall()}
    added = {"runs": ("data_sha256", "source", "checksum"), "sessions": ("checksum",), "rows": ("checksum",)}
    for table, name in ((table, name) for table, names in added.items() for name in names):
        if table != "runs" or name not in present:  # runs of format 1 got them when they were copied
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    connection.execute(_SEALS)
    seal_everything(connection)


def _goals_of_targets(connection: sqlite3.Connection) -> dict[tuple[str, int], str]:
    """Writes the goal of every (schema, target class) that runs have, and returns the goals' digests."""
    found = {}
    for schema, target in connection.execute("SELECT DISTINCT schema_sha256, target FROM runs").fetchall():
        found_schema = connection.execute("SELECT json FROM documents WHERE digest = ?", (schema,)).fetchone()
        with damage_as_file_error("a store of format 1", "a schema with the target class of its runs"):
            named = target >= 0
            goal = {"kind": "target", "label": json.loads(found_schema[0])["classes"][target]} if named else _ANY
        found[schema, target] = document_digest(goal)
        connection.execute(
            "INSERT OR IGNORE INTO documents VALUES (?, ?)", (found[schema, target], document_text(goal))
        )
    return found
