"""Reads the lines of a delimited text file, plain or gzipped."""

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from hammingbox.errors import FileError, HammingboxError, InputError
from hammingbox.files import bounded_lines, open_gzip, unreadable

_DELIMITERS = ",;\t|"
_QUOTED = re.compile(r'(^|[,;\t|])"(?:[^"]|"")*(?:"|$)')
"""A quoted field, and what is before it. A quote inside a field, as of 5" disks, quotes nothing."""


def read_rows(path: Path, *, encoding: str = "utf-8-sig", inflated: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yields the number and the fields of each line that is not empty.

    The delimiter is whichever of ``, ; tab |`` occurs most often in the first line, outside quotes. Gzip is recognised
    by content, not by file name.

    Args:
        path: the file.
        encoding: of its text.
        inflated: MiB that gzip data may always have after inflation, see `inflated_limit`.

    Raises:
        FileError: the file is missing, its gzip data or quoting is damaged, it is not text in this encoding, or it has
            lines or inflated data above the limits.
        InputError: Python does not know the encoding.
    """
    if not _is_known(encoding):
        raise InputError(f"expected the name of a text encoding such as utf-8 or latin-1, got {encoding!r}.")
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with open_gzip(path, inflated) if packed else path.open("rb") as binary:
            lines = bounded_lines(binary, path, encoding)
            first = lines.readline()
            if not first.strip():
                raise FileError(f"expected a line of column names in {path}, got an empty file or an empty first line.")
            delimiter = max(_DELIMITERS, key=_QUOTED.sub(r"\1", first).count)
            # One reader for the first line and the rest: a quoted field may span several lines.
            reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
    except UnicodeDecodeError as error:
        raise FileError(
            f"expected {error.encoding} text in {path}, got the byte 0x{error.object[error.start]:02x}, which is "
            "invalid there. Save the file as UTF-8, or name its encoding, such as --encoding latin-1."
        ) from error
    except UnicodeError as error:
        raise FileError(f"expected {encoding} text in {path}, got other bytes ({error}).") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(
            f"expected complete gzip data in {path}, got a damaged file ({error}). Get it again."
        ) from error
    except csv.Error as error:
        raise FileError(
            f"expected lines of fields with balanced quotes in {path}, got: {error} (line {reader.line_num}). "
            "Repair that line."
        ) from error
    except (OSError, ValueError) as error:  # a ValueError: a path with a NUL character
        if isinstance(error, HammingboxError):
            raise
        raise unreadable(path, error) from error


def _is_known(encoding: str) -> bool:
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError, TypeError):
        return False
    # "hex" and "zip" are codecs, too, but not of text.
    return bool(getattr(found, "_is_text_encoding", True))
