"""Who works on which rows, so that several processes on one run share its rows instead of doing them twice."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from hammingbox.errors import FileError

_ROWS = 2**40
"""Bytes of the lock file that stand for one run, one byte per row; locking them does not make the file larger."""


class RowLocks(ABC):
    """Locks of this process on rows of a store."""

    @abstractmethod
    def take(self, run: int, numbers: Sequence[int]) -> bool:
        """Locks some rows of a run; False, and nothing is locked, when another process holds one of them."""

    @abstractmethod
    def release(self, run: int, numbers: Sequence[int]) -> None:
        """Gives rows back."""

    @abstractmethod
    def close(self) -> None:
        """Gives everything back."""


class NoLocks(RowLocks):
    """For a store that no other process can see."""

    def take(self, run: int, numbers: Sequence[int]) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def release(self, run: int, numbers: Sequence[int]) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing to give back."""


class FileLocks(RowLocks):
    """Locks of the operating system, which releases them when a process dies.

    Where the system has no such locks, two processes may both attack a batch; the store keeps the record that comes
    first.

    Raises:
        FileError: the lock file beside the store cannot be written.
    """

    def __init__(self, store: Path) -> None:
        path = store.with_name(f"{store.name}-claims")
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise FileError(f"expected to write {path}, got: {error.strerror or error}. Check the folder.") from error
        self._system = _system_locks()

    def take(self, run: int, numbers: Sequence[int]) -> bool:
        """Locks one byte per row."""
        held: list[int] = []
        for number in numbers:
            if not self._take(run * _ROWS + number):
                self.release(run, held)
                return False
            held.append(number)
        return True

    def _take(self, offset: int) -> bool:
        if self._system is None:
            return True
        try:
            self._system.lockf(self._file, self._system.LOCK_EX | self._system.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks: nobody can hold any
            return True
        return True

    def release(self, run: int, numbers: Sequence[int]) -> None:
        """Unlocks one byte per row."""
        if self._system is None:
            return
        for number in numbers:
            try:
                self._system.lockf(self._file, self._system.LOCK_UN, 1, run * _ROWS + number)
            except OSError:  # a file system without locks
                return

    def close(self) -> None:
        """Closes the file, which releases all its locks."""
        self._file.close()


def _system_locks() -> ModuleType | None:
    try:
        return importlib.import_module("fcntl")
    except ImportError:  # Windows
        return None
