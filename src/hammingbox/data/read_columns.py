"""Reads a table from a CSV file, a Parquet file or a frame.

Only Parquet needs a library that the core install lacks (pyarrow). A frame is used through its `columns` and
``frame[name]``, so neither pandas nor polars is imported.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.data.columns import ColumnBuilder, Columns
from hammingbox.data.delimited import read_rows
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.files import unreadable

PARQUET = (".parquet", ".pq")
_CHUNK = 4096
"""Lines of a CSV file that are turned into columns at once."""

Frame = Any
"""A pandas or polars frame, or a mapping from column names to values."""


def read_columns(source: Path | str | Frame, *, encoding: str = "utf-8-sig") -> Columns:
    """Reads a CSV file (plain or gzipped), a Parquet file or a frame.

    Args:
        source: a path, a pandas or polars frame, or a mapping from column names to values.
        encoding: of a CSV file.

    Raises:
        FileError: the file is missing, empty or damaged.
        InputError: `source` is something else, or pyarrow is needed and not installed.
    """
    if not isinstance(source, str | Path):
        return _from_frame(source)
    path = Path(source)
    return _from_parquet(path) if path.suffix.lower() in PARQUET else _from_csv(path, encoding)


def source_name(source: Path | str | Frame) -> str:
    """The name of a data set that is read from `source`: its file name, or "table" for a frame."""
    return Path(source).name if isinstance(source, str | Path) else "table"


def _from_csv(path: Path, encoding: str) -> Columns:
    rows = read_rows(path, encoding=encoding)
    _, header = next(rows)
    builders = [ColumnBuilder(name) for name in header]
    while chunk := list(islice(rows, _CHUNK)):
        for line, fields in chunk:
            if len(fields) != len(builders):
                raise FileError(
                    f"expected {len(builders)} fields in line {line} of {path}, as in its header, got {len(fields)}. "
                    "Repair that line, or quote fields that contain the delimiter."
                )
        for builder, texts in zip(builders, zip(*(fields for _, fields in chunk), strict=True), strict=True):
            builder.add(texts)
    return Columns(str(path), tuple(builder.build() for builder in builders))


def _from_frame(frame: Frame) -> Columns:
    names = list(frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"expected a path or a frame with named columns (pandas, polars, a mapping), got {type(frame).__name__}."
        )
    builders = [ColumnBuilder(name) for name in names]
    for name, builder in zip(names, builders, strict=True):
        builder.add(map(_text, frame[name]))
    if len({len(builder) for builder in builders}) > 1:
        raise InputError(f"expected columns of one length, got {', '.join(str(len(b)) for b in builders)} values.")
    return Columns("the frame", tuple(builder.build() for builder in builders))


def _from_parquet(path: Path) -> Columns:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise missing_library("pyarrow", "parquet", f"to read {path}", error) from error
    with _parquet_errors(path, pyarrow.ArrowException), path.open("rb") as binary, parquet.ParquetFile(binary) as file:
        builders = [ColumnBuilder(name) for name in file.schema_arrow.names]
        for batch in file.iter_batches():
            for builder, values in zip(builders, batch.columns, strict=True):
                coded = values if pyarrow.types.is_dictionary(values.type) else values.dictionary_encode()
                texts = [_text(value) for value in coded.dictionary.to_pylist()]
                # A missing value has no code. It gets the code of an empty text appended to the dictionary.
                codes = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
                builder.add_coded([*texts, ""] if values.null_count else texts, codes)
    return Columns(str(path), tuple(builder.build() for builder in builders))


@contextmanager
def _parquet_errors(path: Path, damaged: type[Exception]) -> Iterator[None]:
    try:
        yield
    except damaged as error:
        raise FileError(f"expected complete Parquet data in {path}, got: {error}. Get the file again.") from error
    except OSError as error:
        raise unreadable(path, error) from error


def _text(value: Any) -> str:
    """A value as a CSV file would hold it: empty if missing, a whole float without its decimal point."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # the last two are missing values of pandas
        return ""
    if isinstance(value, float | np.floating):
        return "" if isnan(value) else str(int(value)) if value.is_integer() else str(value)
    return str(value)
