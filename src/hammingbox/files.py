"""Atomic file writes, and reads whose errors tell the user what to do.

A file may come from a stranger. Reading it ends in a value or in a `FileError`, never in another exception, and
compressed data is inflated up to a limit only.
"""

import gzip
import hashlib
import io
import json
import os
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from hammingbox.errors import FileError, HammingboxError, InputError

INFLATED_LIMIT = 64
"""MiB that compressed data may have after inflation; `HAMMINGBOX_INFLATED_MIB` sets another limit."""
INFLATED_VARIABLE = "HAMMINGBOX_INFLATED_MIB"
LONGEST_LINE = 4 * 2**20
"""Bytes of a line of text: more is no table, and would be held in memory as a whole."""
LARGEST_TOML = 3 * 2**20
"""Bytes of a TOML file: the parser takes two seconds per megabyte."""
_DEEPEST_KEY = 64
"""Parts of a dotted TOML key: the parser takes time that grows with the square of their number."""
_CHUNK = 2**20
_LONGEST_SHOWN = 200


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
    except (OSError, UnicodeEncodeError) as error:
        raise _unwritable(path, error) from error
    except ValueError as error:
        if "null" not in str(error):  # not about the path: an error of the block
            raise
        raise _unwritable(path, error) from error
    finally:
        if temporary is not None:
            with suppress(OSError, ValueError):
                temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    with atomic_write(path) as file:
        file.write(content)


def write_json(path: Path, value: Any) -> None:
    """Writes indented JSON atomically."""
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def exists(path: Path) -> bool:
    """Whether there is a file or a folder at a path.

    Raises:
        FileError: no file can have this name, or its folder may not be read.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    return True


def read_bytes(path: Path) -> bytes:
    """Reads a whole file.

    Raises:
        FileError: it is missing or unreadable.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError, MemoryError) as error:
        raise unreadable(path, error) from error


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        FileError: it is missing, truncated or not JSON.
    """
    return parse_json(read_bytes(path), path)


def parse_json(text: bytes | str, source: object) -> Any:
    """The value that JSON stands for.

    Args:
        text: from a file.
        source: where it is from, for messages.

    Raises:
        FileError: it is not JSON, or nested too deeply.
    """
    try:
        value = json.loads(text)
        # An escape may write half of a surrogate pair.
        if b"\\u" in text if isinstance(text, bytes) else "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except ValueError as error:
        raise FileError(f"expected JSON in {shown(source)}, got damaged or truncated text ({error}).") from error
    except RecursionError as error:
        raise FileError(f"expected JSON in {shown(source)}, got brackets that are nested too deeply.") from error


def read_toml(path: Path, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Reads TOML.

    Args:
        path: of the file.
        parse_float: what makes a number with a point of its text; `Decimal` keeps it exact.

    Raises:
        FileError: it is missing, not TOML, or nested too deeply.
    """
    content = read_bytes(path)
    if len(content) > LARGEST_TOML:
        raise FileError(f"expected at most {LARGEST_TOML:,} bytes of TOML in {path}, got {len(content):,}.")
    try:
        text = content.decode()
        if any(_has_deep_key(line) for line in text.splitlines()):
            raise FileError(f"expected keys of at most {_DEEPEST_KEY} parts in {path}, got a longer one. Shorten it.")
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError as error:
        raise FileError(f"expected TOML in {path}, got brackets that are nested too deeply.") from error
    except ValueError as error:  # of TOML, of the encoding, or a number of thousands of digits
        raise FileError(f"expected TOML in {path}, got: {error}. Repair that line.") from error


def _has_deep_key(line: str) -> bool:
    """Whether a line holds many dots in a row with nothing between them that ends a key."""
    run = 0
    for part in line.split(".") if line.count(".") > _DEEPEST_KEY else ():
        run = 0 if any(mark in part for mark in "=,[]{}") else run + 1
        if run > _DEEPEST_KEY:
            return True
    return False


@contextmanager
def damage_as_file_error(source: object, expected: str, remedy: str = "") -> Iterator[None]:
    """Turns whatever the parsing of a damaged file raises into a `FileError`.

    For blocks that only read a file into values: there is no list of the errors that damaged content may raise in a
    library that parses it.

    Args:
        source: the file, for messages.
        expected: what it should hold, such as "a whole checkpoint".
        remedy: a sentence that says what to do.
    """
    try:
        yield
    except FileError:
        raise
    except HammingboxError as error:
        raise FileError(f"expected {expected} in {shown(source)}, got a damaged one: {error}") from error
    except MemoryError as error:
        raise FileError(f"expected {expected} in {shown(source)}, got one that does not fit the memory.") from error
    except RecursionError as error:
        raise FileError(f"expected {expected} in {shown(source)}, got one that is nested too deeply.") from error
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0][:_LONGEST_SHOWN]
        raise FileError(
            f"expected {expected} in {shown(source)}, got a damaged one ({type(error).__name__}: {reason})."
            + (f" {remedy}" if remedy else "")
        ) from error


class LimitedReader(io.RawIOBase):
    """The bytes of a compressed stream, up to a limit: a few megabytes may stand for terabytes.

    Args:
        stream: gives inflated bytes.
        source: the file, for the message.
        limit: bytes; `inflated_limit` by default.
    """

    def __init__(self, stream: io.BufferedIOBase, source: object, limit: int | None = None) -> None:
        self._stream, self._source = stream, source
        self._limit = inflated_limit() if limit is None else limit
        self._done = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads the next bytes.

        Raises:
            FileError: there are more than the limit.
        """
        content = self._stream.read(len(buffer))
        self._done += len(content)
        if self._done > self._limit:
            raise FileError(
                f"expected at most {self._limit // 2**20} MiB of inflated data in {shown(self._source)}, got more. "
                f"If you trust the file, unpack it, or set {INFLATED_VARIABLE} to the MiB it may have."
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Closes the stream as well."""
        self._stream.close()
        super().close()


def inflated_limit(least: int = 0) -> int:
    """Bytes that compressed data may have after inflation.

    Args:
        least: MiB that a known data set needs; the limit is no smaller.

    Raises:
        InputError: the environment sets something other than a number of MiB.
    """
    text = os.environ.get(INFLATED_VARIABLE) or str(INFLATED_LIMIT)
    if not (text.isascii() and text.isdigit() and int(text[:10]) > 0 and len(text) <= 10):
        raise InputError(f"expected a number of MiB in {INFLATED_VARIABLE}, got {text[:40]!r}.")
    return max(int(text), least) * 2**20


def open_gzip(path: Path, least: int = 0) -> io.BufferedReader:
    """Opens a gzip file to read its inflated bytes up to `inflated_limit`."""
    return io.BufferedReader(LimitedReader(gzip.open(path), path, inflated_limit(least)), buffer_size=_CHUNK)


def gunzip(content: bytes, source: object) -> bytes:
    """Inflates gzip data up to `inflated_limit`.

    Raises:
        FileError: it is damaged, or has more bytes than that.
    """
    try:
        with LimitedReader(gzip.GzipFile(fileobj=io.BytesIO(content)), source) as reader:
            parts = iter(lambda: reader.read(_CHUNK), b"")
            return b"".join(part for part in parts if part)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(
            f"expected complete gzip data in {shown(source)}, got a damaged file ({error}). Get it again."
        ) from error


def bounded_lines(binary: io.BufferedIOBase, source: object, encoding: str = "utf-8") -> io.TextIOWrapper:
    """The text of a file, with its ends of lines as they are, whose lines fit into memory.

    Raises:
        FileError: while it is read, a line goes on for more than `LONGEST_LINE` bytes at the end of a block.
    """
    return io.TextIOWrapper(io.BufferedReader(_LineGuard(binary, source), _CHUNK // 4), encoding=encoding, newline="")


class _LineGuard(io.RawIOBase):
    """Looks at whole blocks, which costs almost nothing, and leaves it to Python to find the lines."""

    def __init__(self, stream: io.BufferedIOBase, source: object) -> None:
        self._stream, self._source = stream, source
        self._open_line = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads the next bytes."""
        content = self._stream.read(len(buffer))
        end = max(content.rfind(b"\n"), content.rfind(b"\r"))
        self._open_line = len(content) - end - 1 + (self._open_line if end < 0 else 0)
        if self._open_line > LONGEST_LINE:
            raise FileError(f"expected lines of at most {LONGEST_LINE:,} bytes in {shown(self._source)}, got more.")
        buffer[: len(content)] = content
        return len(content)


def sha256(*parts: bytes | memoryview) -> str:
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
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> FileError:
    """The error for a file that cannot be opened or read."""
    return FileError(f"expected a readable file at {shown(path)}, got: {_reason(error)}.")


def shown(source: object) -> str:
    """A path as messages show it: a very long one without its middle."""
    text = str(source)
    half = _LONGEST_SHOWN // 2
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:half]}...{text[-half:]}"


def _unwritable(path: Path, error: Exception) -> FileError:
    return FileError(
        f"expected to write {shown(path)}, got: {_reason(error)}. Free some space or choose another place."
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
