"""Reads the lines of a delimited text file, plain or gzipped."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from hammingbox.errors import FileError
from hammingbox.files import unreadable

_DELIMITERS = ",;\t|"


def read_rows(path: Path, *, encoding: str = "utf-8-sig") -> Iterator[tuple[int, list[str]]]:
    """Yields the number and the fields of each line that is not empty.

    The delimiter is whichever of ``, ; tab |`` occurs most often in the first line. Gzip is recognised by content, not
    by file name.

    Raises:
        FileError: the file is missing, its gzip data or quoting is damaged, or it is not text in this encoding.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as binary:
            text = io.TextIOWrapper(binary, encoding=encoding, newline="")
            first = text.readline()
            if not first.strip():
                raise FileError(f"expected a line of column names in {path}, got an empty file or an empty first line.")
            delimiter = max(_DELIMITERS, key=first.count)
            # One reader for the first line and the rest: a quoted field may span several lines.
            reader = csv.reader(_with_first_line(first, text), delimiter=delimiter, strict=True)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
    except UnicodeDecodeError as error:
        raise FileError(
            f"expected {error.encoding} text in {path}, got the byte 0x{error.object[error.start]:02x}, which is "
            "invalid there. Save the file as UTF-8, or pass its encoding."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(
            f"expected complete gzip data in {path}, got a damaged file ({error}). Get it again."
        ) from error
    except csv.Error as error:
        raise FileError(
            f"expected lines of fields with balanced quotes in {path}, got: {error} (line {reader.line_num}). "
            "Repair that line."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _with_first_line(first: str, rest: io.TextIOWrapper) -> Iterator[str]:
    yield first
    yield from rest
