"""What a file is by its content, so that a table which is not one is named as what it is, with the remedy."""

import codecs
import gzip
import re
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

from hammingbox.errors import FileError
from hammingbox.files import open_gzip, unreadable

PARQUET = "Parquet"
EXCEL = "Excel"
TEXT = "text"
READ = (PARQUET, EXCEL, TEXT)
"""What is read. Everything else is one of `_REMEDIES`."""

_BEGIN = 512
"""Bytes that are looked at: a tar archive says what it is after 257."""
_TAR_AT = 257

_UNPACK = "Unpack it first"
_REPACK = "Unpack it, or compress it with gzip"
_PANDAS = "Read it with pandas or polars and write it with to_parquet() or to_csv()"
_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (b"BZh", "bzip2 data", _REPACK),
    (b"\xfd7zXZ\x00", "xz data", _REPACK),
    (b"\x28\xb5\x2f\xfd", "zstandard data", _REPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!", "a rar archive", _UNPACK),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an Excel file of the old format .xls, or one with a password",
        "Save it as .xlsx or CSV, without a password",
    ),
    (b"ARROW1", "Feather or Arrow data", _PANDAS),
    (b"FEA1", "Feather data of version 1", _PANDAS),
    (b"\xff\xff\xff\xff", "a stream of Arrow data", _PANDAS),
    (b"ORC", "ORC data", _PANDAS),
    (b"SQLite format 3\x00", "a SQLite database", "Export the table as CSV"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 data", _PANDAS),
    (b"\x93NUMPY", "a NumPy array", "Write it as CSV, with a line of column names"),
    (b"$FL2", "an SPSS file", _PANDAS),
    (b"%PDF-", "a PDF", "Save the table as CSV"),
    (b"version https://git-lfs", "the pointer of a file that git-lfs keeps elsewhere", "Get the file: git lfs pull"),
)
"""How formats begin, what they are called, and what to do."""
_SHORT = 4
"""A mark of so few bytes may also be a name of a column: "ORC"."""

_TEXT_FORMATS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (re.compile(rb"\s*(\[\s*)?\{\s*(\"|\})|\s*\[\s*(\[|\])"), "JSON", _PANDAS),
    (
        re.compile(rb"\s*<(!doctype html|html|head|body|table)\b", re.IGNORECASE),
        "a web page",
        "If it was downloaded, get the file itself and not the page about it; if a program exported it, save it as CSV",
    ),
    (re.compile(rb"\s*<\?xml\b"), "XML", "Save the table as CSV"),
    (re.compile(rb"\s*@relation\b", re.IGNORECASE), "ARFF", "Save the table as CSV, with a line of column names"),
)
_ENCODED = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Longer marks first: that of UTF-32 begins with that of UTF-16."""
_SHOWN_MEMBERS = 3


def kind_of(path: Path, encoding: str = "utf-8") -> str:
    """What a file of a table is: `PARQUET`, `EXCEL`, or `TEXT` if nothing else is seen.

    Args:
        path: the file.
        encoding: of its text, if it is one.

    Raises:
        FileError: it is something that is no table, or one that cannot be read, or that is written in another
            encoding; or it is missing.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(_BEGIN)
    except (OSError, ValueError) as error:
        if isinstance(error, IsADirectoryError):
            raise FileError(f"expected a file of a table, got the folder {path}. Name one file in it.") from error
        raise unreadable(path, error) from error
    if begin.startswith(b"PAR1"):
        return PARQUET
    if begin.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if begin.startswith(b"\x1f\x8b"):
        begin = _inflated(path)
    if begin[_TAR_AT:].startswith(b"ustar"):
        raise _refused(path, "a tar archive", _UNPACK)
    if begin[:1] == b"\x80" and begin[1:2] in b"\x02\x03\x04\x05" and begin[1:2]:
        raise _refused(path, "a pickle, which is never opened: it may run anything", _PANDAS)
    for mark, name, remedy in _FORMATS:
        if begin.startswith(mark) and (len(mark) > _SHORT or not _is_text(begin)):
            raise _refused(path, name, remedy)
    _check_encoding(path, begin, encoding)
    text = begin.removeprefix(codecs.BOM_UTF8)
    for pattern, name, remedy in _TEXT_FORMATS:
        if pattern.match(text):
            raise _refused(path, name, remedy)
    return TEXT


def is_text(path: Path) -> bool:
    """Whether a file begins as text does: without control characters other than ends of lines and tabs."""
    with path.open("rb") as file:
        begin = file.read(_BEGIN)
    return bool(begin) and _is_text(begin)


def _is_text(begin: bytes) -> bool:
    return re.search(rb"[\x00-\x08\x0e-\x1f]", begin) is None


def _kind_of_zip(path: Path) -> str:
    """An Excel file is a zip archive, too, and so is much else."""
    names: list[str] = []
    with suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
        if "xl/workbook.bin" in names:
            raise _refused(path, "an Excel file of the format .xlsb", "Save it as .xlsx or CSV")
        return EXCEL
    if not names:  # a damaged archive: the suffix says what it was
        return EXCEL
    if "content.xml" in names and "mimetype" in names:
        raise _refused(path, "an OpenDocument file", "Save it as .xlsx or CSV")
    inside = [name for name in names if not name.startswith("__MACOSX/")]
    shown = ", ".join(inside[:_SHOWN_MEMBERS]) + (", ..." if len(inside) > _SHOWN_MEMBERS else "")
    raise _refused(path, f"a zip archive ({shown:.200})", _UNPACK)


def _inflated(path: Path) -> bytes:
    """How a gzipped file begins; empty if it is damaged, which is found when it is read."""
    with suppress(gzip.BadGzipFile, EOFError, zlib.error, OSError), open_gzip(path) as file:
        return file.read(_BEGIN)
    return b""


def _check_encoding(path: Path, begin: bytes, encoding: str) -> None:
    """Checks that a text whose bytes are those of UTF-16 or UTF-32 is read as such.

    Raises:
        FileError: it is not.
    """
    found = next((name for mark, name in _ENCODED if begin.startswith(mark)), "")
    if not found and begin.count(0) > len(begin) // 3:  # every other byte of Latin letters
        found = "utf-16-be" if begin[:1] == b"\x00" else "utf-16-le"
    if found and not encoding.lower().replace("_", "-").startswith(("utf-16", "utf16", "utf-32", "utf32")):
        raise FileError(
            f"expected {encoding.removesuffix('-sig')} text in {path}, got {found[:6].upper()} by its first bytes. "
            f"Add --encoding {found} (encoding={found!r}), or save the file as UTF-8."
        )


def _refused(path: Path, found: str, remedy: str) -> FileError:
    return FileError(f"expected a table (CSV, Parquet or .xlsx) in {path}, got {found}. {remedy}.")
