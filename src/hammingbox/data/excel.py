"""Reads the first sheet of an Excel file (.xlsx)."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from hammingbox.errors import FileError, missing_library
from hammingbox.files import INFLATED_VARIABLE, damage_as_file_error, inflated_limit, unreadable

_ELEMENT = re.compile(rb"<(?:\w+:)?(row|si|c|v|is)\b")
_MOST_ROWS, _MOST_TEXTS, _MOST_EMPTY_CELLS = 2**20, 2**21, 3_000_000
_EMPTY_ROW, _MOST_SKIPPED = 50, 20_000_000
"""What a row without values counts beside its cells, and how much of that is read."""


def read_sheet(path: Path) -> Iterator[tuple[Any, ...]]:
    """Yields the cells of each row of the first sheet, its header first; rows without any value are left out.

    Raises:
        FileError: the file is missing or damaged, is no .xlsx, or has more inflated data than the limit.
        InputError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise missing_library("openpyxl", "excel", f"to read {path}", error) from error
    _check_archive(path)
    # An open file, because openpyxl judges a path by its suffix.
    with damage_as_file_error(path, "a whole Excel file (.xlsx)"), path.open("rb") as file:
        # Values as Excel last computed them: formulas are never evaluated here.
        book = load_workbook(file, read_only=True, data_only=True)
        try:
            if not book.worksheets:
                raise FileError(f"expected a sheet with rows in {path}, got none.")
            skipped = 0
            for row in book.worksheets[0].iter_rows(values_only=True):
                if any(cell is not None for cell in row):
                    yield tuple(_plain(cell) for cell in row)
                    continue
                skipped += _EMPTY_ROW + len(row)
                if skipped > _MOST_SKIPPED:  # a few bytes may stand for a million empty rows of 16,384 cells
                    raise FileError(f"expected rows with values in {path}, got too many without any. Delete them.")
        finally:
            book.close()


def _check_archive(path: Path) -> None:
    """Checks what the file says about itself before anything is inflated."""
    try:
        with zipfile.ZipFile(path) as archive:
            size, limit = sum(part.file_size for part in archive.infolist()), inflated_limit()
    except zipfile.BadZipFile as error:
        raise FileError(
            f"expected an Excel file (.xlsx) in {path}, got other content ({error}). Save it as .xlsx or CSV."
        ) from error
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if size > limit:
        raise FileError(
            f"expected at most {limit // 2**20} MiB of inflated data in {path}, got {size // 2**20} MiB. "
            f"Save it as CSV or Parquet, or set {INFLATED_VARIABLE} to the MiB it may have."
        )
    with damage_as_file_error(path, "a whole Excel file (.xlsx)"), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".xml"):
                _check_elements(path, archive.read(name))


def _check_elements(path: Path, content: bytes) -> None:
    """Checks how many elements a part of the file has: openpyxl holds them in memory, even those without a value.

    Raises:
        FileError: more than a sheet may have.
    """
    counts = Counter(found[1] for found in _ELEMENT.finditer(content))
    empty = counts[b"c"] - counts[b"v"] - counts[b"is"]
    for number, most, what in (
        (counts[b"row"], _MOST_ROWS, "rows in a sheet"),
        (counts[b"si"], _MOST_TEXTS, "texts"),
        (empty, _MOST_EMPTY_CELLS, "cells without a value"),
    ):
        if number > most:
            raise FileError(f"expected at most {most:,} {what} in {path}, got {number:,}. Save it as CSV or Parquet.")


def _plain(cell: Any) -> Any:
    """A day is a day: Excel stores it as midnight."""
    if isinstance(cell, datetime) and (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0):
        return cell.date()
    return cell
