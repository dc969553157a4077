"""Reads a table from a CSV file, a Parquet file, an Excel file or a frame.

Only Parquet and Excel need libraries that the core install lacks (pyarrow, openpyxl). A frame is used
through its `columns` and ``frame[name]``, so neither pandas nor polars is imported.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.data import file_kind
from hammingbox.data.columns import Column, ColumnBuilder, Columns, TableBuilder, check_names
from hammingbox.data.delimited import read_rows
from hammingbox.data.excel import read_sheet
from hammingbox.data.file_kind import is_text, kind_of
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.files import INFLATED_VARIABLE, damage_as_file_error, inflated_limit, unreadable
from hammingbox.settings import MOST_TABLE_ROWS as MOST_ROWS

PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm", ".xls")
_BINARY = (*PARQUET, *EXCEL)
_INDEX = re.compile(r"__index_level_\d+__")
MOST_COLUMNS = 20_000
MOST_CELLS = 4_000_000_000
"""Rows times columns: each cell takes four bytes of a temporary file when a table is read, and up to eight when it is
encoded and split."""
SMALL_ROWS, SMALL_CELLS = 5_000_000, 200_000_000
"""Above these a file needs a byte for each row, and one for every 16 cells: a few bytes may stand for any table."""
_MOST_INFLATED = 32
"""Times that inflated data may be larger than its file, where it is more than `inflated_limit`."""
MOST_VALUES = 5_000_000
"""Distinct values of a column: they are held in memory."""
_CHUNK, _CHUNK_CELLS = 256, 2**20
"""Lines of a CSV file that are turned into columns at once, and their cells at most.

So few that Python's search for garbage does not go through them: 4,096 lines take three times as long.
"""

_PARQUET_ROWS, _PARQUET_BUFFER = 2**15, 2**18
"""Rows of a Parquet file that are decoded at once, and bytes of each of its columns."""

Frame = Any
"""A pandas or polars frame, or a mapping from column names to values."""


def read_columns(source: Path | str | Frame, *, encoding: str = "utf-8-sig") -> Columns:
    """Reads a CSV file (plain or gzipped), a Parquet file, an Excel file or a frame. What a file is, its content says.

    Args:
        source: a path, a pandas or polars frame, or a mapping from column names to values.
        encoding: of a CSV file.

    Raises:
        FileError: the file is missing, empty or damaged, or something else than a table.
        InputError: `source` is something else, or pyarrow or openpyxl is needed and not installed.
    """
    if not isinstance(source, str | Path):
        return _from_frame(source)
    path = Path(source)
    suffix, kind = path.suffix.lower(), kind_of(path, encoding)
    if kind == file_kind.TEXT and suffix in _BINARY and is_text(path):
        raise FileError(
            f"expected the content of a {suffix} file in {path}, got text. "
            "If it is a CSV file, rename it to end in .csv."
        )
    if kind == file_kind.EXCEL or (kind == file_kind.TEXT and suffix in EXCEL):
        return _from_excel(path)
    if kind == file_kind.PARQUET or suffix in PARQUET:
        return _from_parquet(path)
    return _from_csv(path, encoding)


def source_name(source: Path | str | Frame) -> str:
    """The name of a data set that is read from `source`: its file name, or "table" for a frame."""
    return Path(source).name if isinstance(source, str | Path) else "table"


def _from_csv(path: Path, encoding: str) -> Columns:
    rows = read_rows(path, encoding=encoding)
    _, header = next(rows)
    _check_size(path, 0, len(header))
    table = TableBuilder(header)
    builders = table.builders
    # Wide lines are read in smaller chunks: a short line with many delimiters stands for many strings.
    size = max(1, min(_CHUNK, _CHUNK_CELLS // len(builders)))
    while chunk := list(islice(rows, size)):
        cells = [fields for _, fields in chunk]
        if set(map(len, cells)) != {len(builders)}:
            line, found = next((line, len(fields)) for line, fields in chunk if len(fields) != len(builders))
            raise FileError(
                f"expected {len(builders)} fields in line {line} of {path}, as in its header, got {found}. "
                "Repair that line, or quote fields that contain the delimiter."
            )
        _check_size(path, len(table) + len(chunk), len(builders))
        for builder, texts in zip(builders, zip(*cells, strict=True), strict=True):
            builder.add(texts)
        _keep(path, table)
    return _without_index(str(path), table.build())


def _from_excel(path: Path) -> Columns:
    rows = read_sheet(path)
    header = [cell_text(name) for name in next(rows, ())]
    while header and not header[-1]:  # a sheet is often wider than its table
        header.pop()
    if not header:
        raise FileError(f"expected a row of column names in the first sheet of {path}, got none.")
    builders = [ColumnBuilder(name) for name in header]
    for row in rows:
        if any(cell is not None for cell in row[len(header) :]):
            raise FileError(f"expected {len(header)} columns in {path}, as in its header, got more. Name all of them.")
        _check_size(path, len(builders[0]) + 1, len(builders))
        for builder, cell in zip(builders, (*row, *[None] * (len(header) - len(row))), strict=False):
            builder.add([cell_text(cell)])
    return _without_index(str(path), [builder.build() for builder in builders])


def _without_index(source: str, columns: Sequence[Column]) -> Columns:
    """A table without the index that pandas writes: a nameless first column, or one named ``__index_level_0__``."""
    kept = [column for column in columns if not _INDEX.fullmatch(column.name)]
    if kept and kept[0].name == "" and _counts_rows(kept[0]):
        del kept[0]
    names = {column.name for column in kept}
    dropped = [column.name for column in columns if column.name not in names]
    notes = tuple(f"left out {name or 'the first column, which has no name'}: an index of pandas" for name in dropped)
    return Columns(source, tuple(kept), notes)


def _counts_rows(column: Column) -> bool:
    """Whether a column counts its rows from 0."""
    return column.values == tuple(map(str, range(len(column.codes))))


def _from_frame(frame: Frame) -> Columns:
    names = list(frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"expected a path or a frame with named columns (pandas, polars, a mapping), got {type(frame).__name__}."
        )
    # pandas gives a frame in place of a column whose name occurs twice.
    check_names([name.strip() for name in names], "the frame")
    builders = [ColumnBuilder(name) for name in names]
    for name, builder in zip(names, builders, strict=True):
        values = frame[name]
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"expected a list of values in column {name!r}, got {values!r:.80}.")
        values = list(values)
        builder.holds_texts = any(issubclass(kind, str) for kind in set(map(type, values)))
        builder.add(map(cell_text, values))
    if len({len(builder) for builder in builders}) > 1:
        raise InputError(f"expected columns of one length, got {', '.join(str(len(b)) for b in builders)} values.")
    return Columns("the frame", tuple(builder.build() for builder in builders))


def _from_parquet(path: Path) -> Columns:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise missing_library("pyarrow", "parquet", f"to read {path}", error) from error
    with (
        damage_as_file_error(path, "complete Parquet data"),
        _opened(path) as binary,
        # Read through a buffer: otherwise all columns of a row group, often of the whole file, are read first.
        parquet.ParquetFile(binary, buffer_size=_PARQUET_BUFFER) as file,
    ):
        _check_parquet(path, file.metadata)
        table = TableBuilder(file.schema_arrow.names)
        for builder, kind in zip(table.builders, file.schema_arrow.types, strict=True):
            own = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
            builder.holds_texts = pyarrow.types.is_string(own) or pyarrow.types.is_large_string(own)
        for batch in _batches(path, file):
            _check_size(path, len(table) + len(batch), len(table.builders))
            for builder, values in zip(table.builders, batch.columns, strict=True):
                coded = values if pyarrow.types.is_dictionary(values.type) else values.dictionary_encode()
                texts = [cell_text(value) for value in coded.dictionary.to_pylist()]
                # A missing value has no code. It gets the code of an empty text appended to the dictionary.
                codes = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
                builder.add_coded([*texts, ""] if values.null_count else texts, codes)
            _keep(path, table)
    return _without_index(str(path), table.build())


def _batches(path: Path, file: Any) -> Iterator[Any]:
    """The rows of a Parquet file, part by part; damage is named with the row before which it lies.

    Raises:
        FileError: the data is damaged.
    """
    found = file.iter_batches(batch_size=_PARQUET_ROWS)
    rows = 0
    while True:
        with damage_as_file_error(
            path, f"complete Parquet data after row {rows:,}" if rows else "complete Parquet data"
        ):
            batch = next(found, None)
        if batch is None:
            return
        rows += len(batch)
        yield batch


def _keep(path: Path, table: TableBuilder) -> None:
    """Moves what was read of a large table to its file, and checks that its values fit the memory.

    Raises:
        FileError: a column has too many distinct values, or the disk is full.
    """
    table.spill()
    for builder in table.builders:
        if builder.values > MOST_VALUES:
            raise FileError(
                f"expected at most {MOST_VALUES:,} distinct values in column {builder.name!r} of {path}, got more. "
                "Round its numbers, or leave an identifier out of the file."
            )


def _opened(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _check_parquet(path: Path, metadata: Any) -> None:
    """Checks what a Parquet file says about itself before its data is inflated.

    Raises:
        FileError: it has no columns, more than tables may have, or more inflated data than the limits.
    """
    if metadata.num_columns == 0:
        raise FileError(f"expected columns in {path}, got none.")
    _check_size(path, metadata.num_rows, metadata.num_columns)
    groups, limit = [metadata.row_group(i) for i in range(metadata.num_row_groups)], inflated_limit()
    largest = max(
        (group.column(i).total_uncompressed_size for group in groups for i in range(metadata.num_columns)), default=0
    )
    size = sum(group.total_byte_size for group in groups)
    # A file is read part by part, so that only a column of a row group must fit the memory.
    if largest > limit or size > max(limit, _MOST_INFLATED * path.stat().st_size):
        raise FileError(
            f"expected at most {limit // 2**20} MiB of inflated data in {path}, got {size // 2**20} MiB. "
            f"If you trust the file, set {INFLATED_VARIABLE} to the MiB it may have."
        )


def _check_size(path: Path, rows: int, columns: int) -> None:
    """Checks that a table is one that can be attacked.

    Raises:
        FileError: it has too many rows, columns or cells.
    """
    size = path.stat().st_size if rows > SMALL_ROWS or rows * columns > SMALL_CELLS else 0
    for found, most, what in (
        (rows, min(MOST_ROWS, max(SMALL_ROWS, size)), "rows"),
        (columns, MOST_COLUMNS, "columns"),
        (rows * columns, min(MOST_CELLS, max(SMALL_CELLS, 16 * size)), "cells"),
    ):
        if found > most:
            raise FileError(f"expected a table of at most {most:,} {what} in {path}, got more. Take a part of it.")


def cell_text(value: Any) -> str:
    """A value as a CSV file would hold it: empty if missing, a whole float without its decimal point."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # the last two are missing values of pandas
        return ""
    if isinstance(value, float | np.floating):
        return "" if isnan(value) else str(int(value)) if value.is_integer() else str(value)
    return str(value)
