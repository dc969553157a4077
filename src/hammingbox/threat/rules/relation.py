"""Relations between columns: what a whole row must keep, whatever is written into each column."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError

PointIds = Int64[Tensor, "*#points k"]
"""The ids of k columns at many points; `clean` may have one row for many points."""
PointMask = Bool[Tensor, "..."]


class Relation(ABC):
    """Something that a whole row must keep. A point that breaks it is not a point.

    Attributes:
        kind: what files call this kind of relation.
        name: what messages and reports call it.
        columns: the columns it reads.
        pointwise: it ties so many columns together that it is checked on single points, not on joint assignments.
    """

    kind: ClassVar[str]
    pointwise: ClassVar[bool] = False
    name: str
    columns: tuple[int, ...]

    @abstractmethod
    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """Whether points keep it.

        Args:
            written: the ids of its columns, in the order of `columns`.
            clean: those of the rows they are made from, of equal or broadcastable shape.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Everything that is needed to build it again, with columns by name and categories as texts."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.columns)} columns)"


def indices_of(schema: Schema, names: Sequence[str], *, least: int = 1) -> tuple[int, ...]:
    """The indices of some columns.

    Raises:
        InputError: an unknown column, one that is named twice, too few, or no list.
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise InputError(f"expected a list of column names, got {names!r:.80}.")
    if len(names) < least:
        raise InputError(f"expected at least {least} column{'s' if least > 1 else ''}, got {len(names)}.")
    found = tuple(schema.feature_index(name) for name in names)
    if len(set(found)) < len(found):
        raise InputError(f"expected each column once, got {', '.join(map(repr, names))}.")
    return found


def names_of(schema: Schema, columns: Sequence[int]) -> list[str]:
    """The names of some columns."""
    return [schema.features[column].name for column in columns]


def ids_of_texts(
    schema: Schema, columns: Sequence[int], rows: Sequence[Sequence[str | int | float]]
) -> Int64[Tensor, "rows columns"]:
    """Rows of values as ids.

    Raises:
        InputError: an unknown category, or a row of another length.
    """
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise InputError(f"expected a list of rows, got {rows!r:.80}.")
    ids: list[list[int]] = []
    known: list[dict[Any, int]] = [{} for _ in columns]
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(columns):
            raise InputError(f"expected one value of each of {', '.join(names_of(schema, columns))}, got {row!r:.80}.")
        found = []
        for column, value, cache in zip(columns, row, known, strict=True):
            key = (type(value), value)
            if key not in cache:
                cache[key] = schema.category_id(column, value)
            found.append(cache[key])
        ids.append(found)
    return torch.tensor(ids, dtype=torch.int64, device="cpu").reshape(len(ids), len(columns))


def texts_of_ids(schema: Schema, columns: Sequence[int], ids: Int64[Tensor, "rows columns"]) -> list[list[str]]:
    """Rows of ids as texts."""
    words = [schema.features[column].categories for column in columns]
    return [[own[i] for own, i in zip(words, row, strict=True)] for row in ids.tolist()]
