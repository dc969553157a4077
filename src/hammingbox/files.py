"""Atomic file writes, and reads whose errors tell the user what to do."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from hammingbox.errors import FileError


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Opens a temporary file next to `path`, which replaces `path` only if the block ends without an error.

    Raises:
        FileError: the folder cannot be created or the disk is full; no partial file is left behind.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}")
        with temporary.open("xb") as file:  # not tempfile: the file gets the user's default permissions
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise FileError(
            f"expected to write {path}, got: {error.strerror or error}. Free some space or choose another place."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    with atomic_write(path) as file:
        file.write(content)


def write_json(path: Path, value: Any) -> None:
    """Writes indented JSON atomically."""
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_bytes(path: Path) -> bytes:
    """Reads a whole file.

    Raises:
        FileError: it is missing or unreadable.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        FileError: it is missing, truncated or not JSON.
    """
    try:
        return json.loads(read_bytes(path))
    except ValueError as error:
        raise FileError(f"expected JSON in {path}, got damaged or truncated text ({error}).") from error


def sha256(*parts: bytes) -> str:
    """Hex digest of the concatenation of some bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Hex digest of a file, which is read in chunks.

    Raises:
        FileError: it is missing or unreadable.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> FileError:
    """The error for a file that cannot be opened or read."""
    return FileError(f"expected a readable file at {path}, got: {error.strerror or error}.")
