"""Results that outlive a killed run: a small interface, one SQLite file per folder behind it."""

from pathlib import Path

from hammingbox.running.store.memory_store import MemoryStore
from hammingbox.running.store.records import Run, RunKey, Session
from hammingbox.running.store.sqlite_file import Database
from hammingbox.running.store.sqlite_store import FILE, SQLiteStore
from hammingbox.running.store.store import Store, document_digest, goal_digest, space_digest


def open_store(path: Path | str, *, create: bool = False, wait: float = 60.0, readonly: bool = False) -> Store:
    """Opens a store. A file of an earlier format is migrated; read-only, a copy of it in memory is.

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
    return SQLiteStore(Database(file, create=create, wait=wait, readonly=readonly))


__all__ = [
    "FILE",
    "MemoryStore",
    "Run",
    "RunKey",
    "SQLiteStore",
    "Session",
    "Store",
    "document_digest",
    "goal_digest",
    "open_store",
    "space_digest",
]
