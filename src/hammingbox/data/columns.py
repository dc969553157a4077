"""A table as the file has it: columns of text, each value kept once and rows as numbers of values.

A column of ten thousand categories and a million rows takes 4 MB, and everything that looks at values (inference,
inspection, encoding) looks at each distinct value once.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from hammingbox.data.delimited import read_rows
from hammingbox.errors import FileError, InputError, unknown_name

PARQUET = (".parquet", ".pq")
_LINES = 4096
"""Lines of a file that are turned into columns at once."""

Codes = Int[np.ndarray, "rows"]
Frame = Any
"""A pandas or polars frame, or a mapping: names in `columns` (or as keys), values in ``frame[name]``."""


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: from the header.
        values: distinct texts in order of their first row; the empty text is a missing value.
        codes: for each row, the place of its text among `values`.
    """

    name: str
    values: tuple[str, ...]
    codes: Codes

    def counts(self) -> dict[str, int]:
        """Rows of each value."""
        numbers = np.bincount(self.codes, minlength=len(self.values))
        return dict(zip(self.values, numbers.tolist(), strict=True))


@dataclass(frozen=True)
class Columns:
    """All columns of a source, in its order."""

    source: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if "" in names or len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise FileError(
                f"expected distinct column names in {self.source}, got {', '.join(map(repr, twice or ['']))} "
                f"{'more than once' if twice else 'as a name'}. Write a header line with one name per column."
            )
        if not self.columns or len(self.columns[0].codes) == 0:
            raise FileError(f"expected rows below the header of {self.source}, got none.")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].codes)

    def column(self, name: str, *, kind: str = "column") -> Column:
        """A column by name.

        Raises:
            InputError: there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_name(f"{kind} of {self.source}", name, [column.name for column in self.columns])


class _Builder:
    """Collects a column row by row."""

    def __init__(self, name: str) -> None:
        self.name = name.strip()
        self._place: dict[str, int] = {}
        self._codes = array("i")

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, texts: Iterable[str]) -> None:
        place = self._place
        self._codes.extend(place.setdefault(text.strip(), len(place)) for text in texts)

    def add_coded(self, texts: Iterable[str], codes: Codes) -> None:
        """Adds rows that come as numbers of texts."""
        own = np.array([self._place.setdefault(text.strip(), len(self._place)) for text in texts], dtype=np.int32)
        self._codes.frombytes(own[codes].tobytes())

    def done(self) -> Column:
        return Column(self.name, tuple(self._place), np.array(self._codes, dtype=np.int32))


def read_columns(source: Path | str | Frame, *, encoding: str = "utf-8-sig") -> Columns:
    """Reads a CSV file (plain or gzipped), a Parquet file or a frame.

    Args:
        source: a path, a pandas or polars frame, or a mapping from column names to values.
        encoding: of a CSV file.

    Raises:
        FileError: the file is missing, empty or damaged.
        InputError: something else was given.
    """
    if not isinstance(source, str | Path):
        return _from_frame(source)
    path = Path(source)
    return _from_parquet(path) if path.suffix.lower() in PARQUET else _from_csv(path, encoding)


def _from_csv(path: Path, encoding: str) -> Columns:
    rows = read_rows(path, encoding=encoding)
    _, header = next(rows)
    builders = [_Builder(name) for name in header]
    while chunk := list(islice(rows, _LINES)):
        for line, fields in chunk:
            if len(fields) != len(builders):
                raise FileError(
                    f"expected {len(builders)} fields in line {line} of {path}, as in its header, got {len(fields)}. "
                    "Repair that line, or quote fields that hold the delimiter."
                )
        for builder, texts in zip(builders, zip(*(fields for _, fields in chunk), strict=True), strict=True):
            builder.add(texts)
    return Columns(str(path), tuple(builder.done() for builder in builders))


def _from_frame(frame: Frame) -> Columns:
    names = list(frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"expected a path or a frame with named columns (pandas, polars, a mapping), got {type(frame).__name__}."
        )
    builders = [_Builder(name) for name in names]
    for name, builder in zip(names, builders, strict=True):
        builder.add(map(_text, frame[name]))
    if len({len(builder) for builder in builders}) > 1:
        raise InputError(f"expected columns of one length, got {', '.join(str(len(b)) for b in builders)} values.")
    return Columns("the frame", tuple(builder.done() for builder in builders))


def _from_parquet(path: Path) -> Columns:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise FileError(
            f"expected pyarrow to read {path}, got no such package. Install it: pip install 'hammingbox[parquet]'."
        ) from error
    with _parquet_errors(path, pyarrow.ArrowException), path.open("rb") as binary, parquet.ParquetFile(binary) as file:
        builders = [_Builder(name) for name in file.schema_arrow.names]
        for batch in file.iter_batches():
            for builder, values in zip(builders, batch.columns, strict=True):
                coded = values if pyarrow.types.is_dictionary(values.type) else values.dictionary_encode()
                texts = [_text(value) for value in coded.dictionary.to_pylist()]
                # A missing value has no code: give it the place of an empty text after the last.
                codes = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
                builder.add_coded([*texts, ""] if values.null_count else texts, codes)
    return Columns(str(path), tuple(builder.done() for builder in builders))


@contextmanager
def _parquet_errors(path: Path, damaged: type[Exception]) -> Iterator[None]:
    try:
        yield
    except damaged as error:
        raise FileError(f"expected whole Parquet data in {path}, got: {error}. Get the file again.") from error
    except OSError as error:
        raise FileError(f"expected a readable file at {path}, got: {error.strerror or error}.") from error


def _text(value: Any) -> str:
    """A value as a CSV file would hold it: missing values empty, whole floats without their point."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # the last two are what pandas writes
        return ""
    if isinstance(value, float | np.floating):
        return "" if isnan(value) else str(int(value)) if value.is_integer() else str(value)
    return str(value)
