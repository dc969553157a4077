"""The SQLite file: opened with care, written in whole transactions, its errors in words a person can act on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from hammingbox.errors import FileError
from hammingbox.files import exists, shown
from hammingbox.running.store.tables import FORMAT, create_tables, migrate

APPLICATION = 0x68616D62
"""`hamb`: tells a store from any other SQLite file."""


_LONGEST_VALUE = 2**28
"""Bytes of one text or blob of a file."""


class Database:
    """A connection to a store's file. Every write is one transaction: it happens as a whole or not at all.

    Args:
        path: the file.
        create: make it when it is not there.
        wait: seconds to wait for other writers.
        readonly: never write; no permission to do so is needed, and the file is not searched for damage first.
    """

    def __init__(self, path: Path, *, create: bool = False, wait: float = 60.0, readonly: bool = False) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        self._logs = False
        if not create and not (exists(path) and path.is_file()):
            raise FileError(
                f"expected a store of results at {shown(path)}, got no such file. "
                "Make one with `hammingbox compare --out`."
            )
        if readonly:
            with self._plain_errors():
                self._open_to_read(wait)
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise FileError(
                f"expected to write {shown(path)}, got: {getattr(error, 'strerror', None) or error}. "
                "Choose another place."
            ) from error
        with self._plain_errors():
            self.connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
            try:
                self._prepare(wait)
            except BaseException:
                self.connection.close()
                raise
        self._identity = _identity(path)

    def _open_to_read(self, wait: float) -> None:
        """Opens a connection that cannot write.

        SQLite needs a file beside the store to read it (`-shm`). Where that cannot be made, as on a read-only disk, the
        store is read as a file that nobody changes: true as long as no log (`-wal`) of a writer lies beside it.
        """
        place = self.path.absolute().as_uri()
        try:
            self._look(f"{place}?mode=rw", wait)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            log = self.path.with_name(f"{self.path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise FileError(
                    f"expected to read {self.path} together with {log.name}, got a folder that SQLite cannot write to. "
                    "Copy the folder to a place where it can, or wait for the program that writes there."
                ) from error
            self._look(f"{place}?mode=ro&immutable=1", wait)

    def _look(self, uri: str, wait: float) -> None:
        self.connection = sqlite3.connect(uri, timeout=wait, isolation_level=None, uri=True)
        try:
            if self._check_format() < FORMAT:
                self._migrate_a_copy()
            self.connection.execute("PRAGMA query_only = ON")
        except BaseException:
            self.connection.close()
            raise

    def _migrate_a_copy(self) -> None:
        """Reads a file of an earlier format through a copy in memory: a reader changes nothing on disk."""
        copy = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self.connection.backup(copy)
        except BaseException:
            copy.close()
            raise
        self.connection.close()
        self.connection = copy
        self._migrate()

    def _prepare(self, wait: float) -> None:
        first = self.connection.execute("PRAGMA schema_version").fetchone()[0] == 0
        if first:
            self._check_empty()
            with self.write():
                # Another program may have made the tables since.
                if self._version() == 0:
                    create_tables(self.connection)
                    self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        if self._check_format() < FORMAT:
            self._check_whole()  # before a migration, so that damage is not copied into the new tables
            self._migrate()
        self._use_log(wait)
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute("PRAGMA foreign_keys = ON")
        self._check_whole()

    def _migrate(self) -> None:
        """Brings an earlier format to this one in a single transaction: killed or without space, nothing changes."""
        with self.write() as connection:
            version = self._version()  # another program may have been quicker
            if version < FORMAT:
                migrate(connection, version)

    def _check_whole(self) -> None:
        found = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)

    def _version(self) -> int:
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def _use_log(self, wait: float) -> None:
        """Writers and readers do not block each other; a killed writer loses only its open transaction."""
        end = monotonic() + wait
        while True:
            try:
                found = self.connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                self._logs = str(found).lower() == "wal"
                return
            except sqlite3.OperationalError as error:
                # SQLite does not wait by itself for whoever makes this change at the same moment.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > end:
                    raise
                sleep(0.02)

    def _check_empty(self) -> None:
        """An empty file becomes a store; `schema_version` 0 of anything else means damage."""
        if self.path.stat().st_size and self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError("no schema")

    def _check_format(self) -> int:
        """The format of the file.

        Raises:
            FileError: it is another program's file, or of a newer format.
        """
        application = self.connection.execute("PRAGMA application_id").fetchone()[0]
        if application != APPLICATION:
            raise FileError(
                f"expected a store of hammingbox at {self.path}, got another program's database. Choose another folder."
            )
        self._check_tables()
        version = self._version()
        if not 1 <= version <= FORMAT:
            raise FileError(
                f"expected a store of format 1 to {FORMAT} at {self.path}, got format {version}, written by a newer "
                "hammingbox. Nothing was changed: use that version, or another folder."
            )
        return version

    def _check_tables(self) -> None:
        """Checks that the file has plain tables, as this package makes them.

        A view, a trigger or a computed column of a stranger's file would run its own queries inside ours, as long and
        with as much memory as it likes.

        Raises:
            FileError: it has something else.
        """
        self.connection.execute("PRAGMA trusted_schema = OFF")
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        kinds = self.connection.execute("SELECT DISTINCT type FROM sqlite_master WHERE type != 'index'").fetchall()
        computed = self.connection.execute(
            "SELECT 1 FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c WHERE m.type = 'table' AND c.hidden != 0"
        ).fetchone()
        if {kind for (kind,) in kinds} - {"table"} or computed is not None:
            raise FileError(
                f"expected a store of hammingbox at {self.path}, got one with views, triggers or computed columns, "
                "which no version writes. Do not trust it."
            )

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction, taken at once so that two writers wait for each other instead of failing midway.

        Raises:
            FileError: the disk is full, the file damaged or locked; the transaction was rolled back.
        """
        with self._plain_errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        self.check_there()

    def check_there(self) -> None:
        """Checks that the file is still the one that was opened; SQLite itself goes on writing to a deleted one.

        Raises:
            FileError: it was deleted, moved away or replaced.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        if self._identity is None or (_identity(self.path) == self._identity and (not self._logs or log.exists())):
            return
        raise FileError(
            f"expected the store at {self.path} that was opened, got none or another one: it was deleted, moved or "
            "replaced while the run went on. Nothing that was recorded since is kept: give the same command again."
        )

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever others write meanwhile."""
        with self._plain_errors():
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The connection, with its errors in words."""
        with self._plain_errors():
            yield self.connection

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # the message itself may hold damaged text of the file
            raise FileError(_explain(self.path, error)) from error

    def close(self) -> None:
        """Closes the file; SQLite then folds its log into it."""
        self.connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that takes its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _explain(path: Path, error: sqlite3.Error | UnicodeError) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary == sqlite3.SQLITE_FULL:
        return (
            f"expected room to write {path}, got a full disk. All rows recorded so far are kept: "
            "free some space and give the same command again."
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"expected to write {path}, got a lock that another program holds. Wait for it and try again."
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
        return f"expected to open and write {path}, got: {error}. Check the disk and its permissions."
    return (
        f"expected a whole store at {path}, got a damaged file or none of SQLite ({error}). Nothing was changed: "
        "move it away and start anew, or rescue what is readable with `sqlite3 FILE .recover`."
    )
