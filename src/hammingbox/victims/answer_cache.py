"""Answers of a service that were paid for, in a file: a run that is killed asks for none of them again."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.errors import FileError
from hammingbox.victims.frames import Array

_AT_ONCE = 500
"""Keys of one query; SQLite allows 999 variables in its oldest versions."""


class AnswerCache:
    """Rows and their probabilities. Each `add` is one transaction; several processes may use one file.

    Args:
        path: of the SQLite file; it is made if there is none.
        classes: numbers per answer.

    Raises:
        FileError: the file is damaged or cannot be written.
    """

    def __init__(self, path: Path, classes: int) -> None:
        self.path, self._classes = path, classes
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=60.0)
            with self._connection:
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers (row BLOB PRIMARY KEY, probabilities BLOB NOT NULL) "
                    "WITHOUT ROWID"
                )
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
                )
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def __len__(self) -> int:
        return int(self._run("SELECT count(*) FROM answers").fetchone()[0])

    @property
    def model(self) -> str | None:
        """What the service called the model that answered; None if it never said so."""
        found = self._run("SELECT value FROM about WHERE name = 'model'").fetchone()
        return None if found is None else str(found[0])

    def note_model(self, model: str) -> None:
        """Keeps what the service calls its model."""
        try:
            with self._connection:
                self._connection.execute("INSERT OR REPLACE INTO about VALUES ('model', ?)", (model,))
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Array]:
        """The known answers to some rows."""
        found: dict[bytes, Array] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for key, value in self._run(f"SELECT row, probabilities FROM answers WHERE row IN ({marks})", part):
                numbers = np.frombuffer(value, dtype="<f8")
                if len(numbers) == self._classes:
                    found[key] = numbers
        return found

    def add(self, keys: Sequence[bytes], answers: Array) -> None:
        """Keeps answers, all or none of them."""
        rows = [(key, np.ascontiguousarray(row, dtype="<f8").tobytes()) for key, row in zip(keys, answers, strict=True)]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _run(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, tuple(values))
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> FileError:
        return FileError(
            f"expected a usable cache of answers at {self.path}, got: {error}. Delete the file to ask the service anew."
        )
