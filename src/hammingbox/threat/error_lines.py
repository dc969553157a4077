"""Adds to an error where it comes from: the file and the line of an entry."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hammingbox.errors import FileError, HammingboxError
from hammingbox.files import read_bytes, shown
from hammingbox.threat.toml_lines import TomlLines


class LineError(FileError):
    """An error that says its line already."""


class ErrorLines:
    """The lines of a TOML file, for errors.

    Args:
        source: a file that was read as TOML.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self._lines = TomlLines(read_bytes(source).decode(errors="replace"))

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Says of an error that no inner block located that it is in this entry."""
        try:
            yield
        except LineError:
            raise
        except HammingboxError as error:
            raise LineError(f"{shown(self.source)}, line {self._lines.of(*path)}: {error}") from error
