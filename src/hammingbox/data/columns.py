"""A table in memory: columns of text that store each distinct value once, and one code per row.

A column of a million rows takes 4 MB plus its distinct values. Code that looks at values (inference, inspection,
encoding) looks at each distinct value once.
"""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

from hammingbox.errors import FileError, unknown_name

Codes = Int[np.ndarray, "rows"]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: from the header.
        values: the distinct texts in order of first occurrence; the empty text is a missing value.
        codes: for each row, the index of its text in `values`.
    """

    name: str
    values: tuple[str, ...]
    codes: Codes

    def counts(self) -> dict[str, int]:
        """The number of rows with each value."""
        numbers = np.bincount(self.codes, minlength=len(self.values))
        return dict(zip(self.values, numbers.tolist(), strict=True))

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
        names = Counter(column.name for column in self.columns)
        if "" in names or len(names) < len(self.columns):
            repeated = sorted(name for name, count in names.items() if count > 1)[:12]
            raise FileError(
                f"expected distinct column names in {self.source}, got {', '.join(map(repr, repeated or ['']))} "
                f"{'more than once' if repeated else 'as a name'}. Write a header line with one name per column."
            )
        if not self.columns or len(self.columns[0].codes) == 0:
            raise FileError(f"expected rows below the header of {self.source}, got none.")

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].codes)

    def column(self, name: str, *, kind: str = "column") -> Column:
        """The column with a name.

        Args:
            name: of the column.
            kind: what the column is called in the error message.

        Raises:
            InputError: there is no such column.
        """
        if name not in self._by_name:
            raise unknown_name(f"{kind} of {self.source}", name, self._by_name)
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}


class _Codes(dict[str, int]):
    """Numbers distinct texts in order of first occurrence."""

    def __missing__(self, text: str) -> int:
        self[text] = code = len(self)
        return code


class ColumnBuilder:
    """Collects the values of a column in the order of its rows."""

    def __init__(self, name: str) -> None:
        self.name = name.strip()
        self._code_of = _Codes()
        self._codes = array("i")

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, texts: Iterable[str]) -> None:
        """Adds one row per text."""
        self._codes.extend(map(self._code_of.__getitem__, texts))

    def add_coded(self, texts: Iterable[str], codes: Codes) -> None:
        """Adds one row per code; a code is an index into `texts`."""
        own = np.array([self._code_of[text] for text in texts], dtype=np.int32)
        self._codes.frombytes(own[codes].tobytes())

    def build(self) -> Column:
        """The column of all rows added so far, without blanks around its texts."""
        # The codes are not copied: a large table would take twice the memory.
        codes = np.frombuffer(self._codes, dtype=np.int32) if self._codes else np.empty(0, dtype=np.int32)
        stripped = _Codes()
        new = np.array([stripped[text.strip()] for text in self._code_of], dtype=np.int32)
        return Column(self.name, tuple(stripped), codes if len(stripped) == len(self._code_of) else new[codes])
