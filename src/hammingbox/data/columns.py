"""A table that was read: columns of text that store each distinct value once, and one code per row.

A column of a million rows takes 4 MB plus its distinct values. The codes of large tables are in a file, see
`hammingbox.data.mapped`. Code that looks at values (inference, inspection, encoding) looks at each distinct value once.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int

from hammingbox.data.mapped import MAPPED_CELLS, ArrayFile
from hammingbox.errors import FileError, InputError, did_you_mean, unknown_name

Codes = Int[np.ndarray, "rows"]
Counts = Int[np.ndarray, "values"]
"""The number of rows with each value."""


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: from the header.
        values: the distinct texts in order of first occurrence; the empty text is a missing value.
        codes: for each row, the index of its text in `values`.
        counted: the number of rows with each value, where somebody has counted them.
        holds_texts: whether the source itself says that the values are texts, as a frame does and a CSV file cannot.
    """

    name: str
    values: tuple[str, ...]
    codes: Codes
    counted: Counts | None = field(default=None, repr=False)
    holds_texts: bool = field(default=False, repr=False)

    def counts(self) -> dict[str, int]:
        """The number of rows with each value."""
        return dict(zip(self.values, self.frequencies.tolist(), strict=True))

    @property
    def frequencies(self) -> Counts:
        """The number of rows with each value, in their order."""
        if self.counted is not None:
            return self.counted
        return np.bincount(self.codes, minlength=len(self.values))

    def first_row(self, value: str) -> int:
        """The number of the first row that holds a value, counted from 0 as in results."""
        return int(np.argmax(self.codes == self.values.index(value)))


@dataclass(frozen=True)
class Columns:
    """All columns of a table, in the order of its source.

    Attributes:
        source: the file, for messages.
        columns: at least one, with distinct names and at least one row.
        notes: what was left out of the source, and why.
    """

    source: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_names([column.name for column in self.columns], self.source)
        if not self.columns or len(self.columns[0].codes) == 0:
            raise FileError(f"expected rows below the header of {self.source}, got none.")

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].codes)

    def column(self, name: str, *, kind: str = "") -> Column:
        """The column with a name.

        Args:
            name: of the column.
            kind: what a user calls a column that only they name; "" for one that a schema or another file has.

        Raises:
            InputError: there is no such column.
        """
        if name in self._by_name:
            return self._by_name[name]
        if kind:
            raise unknown_name(f"{kind} of {self.source}", name, self._by_name)
        raise InputError(
            f"expected a column {name!r} in {self.source}, got a table without it. Add the column, or leave it out of "
            f"the schema file.{did_you_mean(name, self._by_name)}"
        )

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}


def check_names(names: Sequence[str], source: str) -> None:
    """Checks that columns can be told apart by their names.

    Raises:
        FileError: a name is empty, or several columns have it.
    """
    counts = Counter(names)
    if "" in counts or len(counts) < len(names):
        repeated = sorted(name for name, count in counts.items() if count > 1)[:12]
        raise FileError(
            f"expected distinct column names in {source}, got {', '.join(map(repr, repeated or ['']))} "
            f"{'more than once' if repeated else 'as a name'}. Write a header line with one name per column."
        )


class _Codes(dict[str, int]):
    """Numbers distinct texts in order of first occurrence. Blanks around a text do not make it another one."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        stripped = text.strip()
        if stripped == text:
            self[text] = code = len(self.texts)
            self.texts.append(text)
        else:
            self[text] = code = self[stripped]
        return code


class ColumnBuilder:
    """Collects the values of a column in the order of its rows."""

    def __init__(self, name: str) -> None:
        self.name = name.strip()
        self.holds_texts = False
        self._code_of = _Codes()
        self._codes = array("i")

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def values(self) -> int:
        """The number of distinct values."""
        return len(self._code_of.texts)

    def add(self, texts: Iterable[str]) -> None:
        """Adds one row per text."""
        self._codes.extend(map(self._code_of.__getitem__, texts))

    def add_coded(self, texts: Iterable[str], codes: Codes) -> None:
        """Adds one row per code; a code is an index into `texts`."""
        own = np.array([self._code_of[text] for text in texts], dtype=np.int32)
        self._codes.frombytes(own[codes].tobytes())

    def take_codes(self) -> Codes:
        """The codes of the rows that were added since the last call, which the builder forgets."""
        codes, self._codes = self._codes, array("i")
        return np.frombuffer(codes, dtype=np.int32) if codes else np.empty(0, dtype=np.int32)

    def build(self, codes: Codes | None = None, counted: Counts | None = None) -> Column:
        """The column of all rows added so far, without blanks around its texts.

        Args:
            codes: of all rows, if they were taken before.
            counted: the number of rows with each value, if it is known.
        """
        # The codes are not copied: a large table would take twice the memory.
        own = self.take_codes() if codes is None else codes
        return Column(self.name, tuple(self._code_of.texts), own, counted, self.holds_texts)


class TableBuilder:
    """Collects the columns of a table; the codes of a large one in a file.

    Args:
        names: of the columns.
        cells: from which the codes are in a file.
    """

    def __init__(self, names: Sequence[str], cells: int | None = None) -> None:
        self.builders = [ColumnBuilder(name) for name in names]
        self._most = (MAPPED_CELLS if cells is None else cells) // max(1, len(self.builders))
        self._file: ArrayFile | None = None
        self._counts: list[Counts] = [np.zeros(0, dtype=np.int64) for _ in self.builders]

    def __len__(self) -> int:
        return (0 if self._file is None else self._file.rows) + len(self.builders[0])

    def spill(self) -> None:
        """Moves codes to the file, if there are many. Call it when all columns have the same number of rows."""
        if len(self.builders[0]) > self._most:
            self._file = self._file or ArrayFile(len(self.builders), np.int32)
            codes = [builder.take_codes() for builder in self.builders]
            self._file.append(np.stack(codes, 1))
            # Counted now, so that nobody has to go through the file for it.
            self._counts = [
                np.bincount(own, minlength=builder.values) + np.pad(before, (0, builder.values - len(before)))
                for own, before, builder in zip(codes, self._counts, self.builders, strict=True)
            ]

    def build(self) -> list[Column]:
        """The columns of all rows."""
        if self._file is None:
            return [builder.build() for builder in self.builders]
        self._most = 0
        if len(self.builders[0]):
            self.spill()
        codes = self._file.mapped()
        return [builder.build(codes[:, i], self._counts[i]) for i, builder in enumerate(self.builders)]
