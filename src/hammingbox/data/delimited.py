"""Lines of a delimited text file, plain or gzipped, with errors a person can act on."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from hammingbox.errors import FileError

_DELIMITERS = ",;\t|"


def read_rows(path: Path, *, encoding: str = "utf-8-sig") -> Iterator[tuple[int, list[str]]]:
    """The fields of each line with the line's number, one at a time; empty lines are left out.

    The delimiter is the one of ``, ; tab |`` that the first line has most of. Gzip is told by content, not by name.

    Raises:
        FileError: the file is missing, not text of this encoding, broken gzip or broken quoting.
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
            # One reader over the first line and the rest: a quoted field may run over several lines.
            reader = csv.reader(_chain(first, text), delimiter=delimiter, strict=True)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
    except UnicodeDecodeError as error:
        raise FileError(
            f"expected {error.encoding} text in {path}, got the byte 0x{error.object[error.start]:02x} that it does "
            "not have. Save the file as UTF-8, or name its encoding."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"expected whole gzip data in {path}, got a broken file ({error}). Get it again.") from error
    except csv.Error as error:
        raise FileError(
            f"expected lines of fields with balanced quotes in {path}, got: {error} (line {reader.line_num}). "
            "Repair that line."
        ) from error
    except OSError as error:
        raise FileError(f"expected a readable file at {path}, got: {error.strerror or error}.") from error


def _chain(first: str, rest: io.TextIOWrapper) -> Iterator[str]:
    yield first
    yield from rest
