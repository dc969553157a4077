"""Who works on which rows: locks of the operating system, which a killed process gives back by dying.

Two programs on one run share its rows instead of doing them twice. Where the system has no such locks they may both
attack a batch; the store then keeps the record that comes first.
"""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from hammingbox.errors import FileError

_ROWS = 2**40
"""Bytes of the lock file that stand for one run, a byte a row; locking them does not make the file any larger."""


def _locks() -> ModuleType | None:
    try:
        return importlib.import_module("fcntl")
    except ImportError:  # Windows
        return None


class Claims:
    """Claims of this process on rows of a store."""

    def __init__(self, store: Path) -> None:
        path = store.with_name(f"{store.name}-claims")
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise FileError(f"expected to write {path}, got: {error.strerror or error}. Check the folder.") from error
        self._locks = _locks()

    @contextmanager
    def hold(self, run: int, numbers: Sequence[int]) -> Iterator[bool]:
        """Claims some rows of a run; False when another process has one of them. Given back at the end."""
        held: list[int] = []
        try:
            yield all(self._take(run * _ROWS + number, held) for number in numbers)
        finally:
            if self._locks is not None:
                for offset in held:
                    self._locks.lockf(self._file, self._locks.LOCK_UN, 1, offset)

    def _take(self, offset: int, held: list[int]) -> bool:
        if self._locks is None:
            return True
        try:
            self._locks.lockf(self._file, self._locks.LOCK_EX | self._locks.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks: nobody can claim anything
            return True
        held.append(offset)
        return True

    def close(self) -> None:
        """Gives everything back."""
        self._file.close()
