"""Forbids what the data never shows: pairs of values that no row has together."""

import base64
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.relation import PointIds, PointMask, Relation, indices_of, names_of

MOST_CELLS = 2**26
"""Pairs of values that are kept, over all pairs of columns."""


class SeenTogether(Relation):
    """Every two values of a row, at least one of them written, occur together in the data.

    It ties all its columns together, far too many to list their joint assignments, so it is checked point by point.

    Args:
        schema: what the ids mean.
        columns: names of the columns.
        seen: for every pair of them, in the order of `itertools.combinations`, which pairs of values occur.
        name: what reports call it.

    Raises:
        InputError: an unknown column, fewer than two, or columns of too many values.
    """

    kind = "seen_together"
    pointwise: ClassVar[bool] = True

    def __init__(
        self, schema: Schema, columns: Sequence[str], seen: Sequence[Bool[Tensor, "_ _"]], name: str = ""
    ) -> None:
        self.columns = indices_of(schema, columns, least=2)
        self.name = name or "values that the data shows together"
        self._schema = schema
        pairs = list(combinations(range(len(self.columns)), 2))
        shapes = [tuple(schema.cardinalities[self.columns[i]] for i in pair) for pair in pairs]
        if [tuple(table.shape) for table in seen] != shapes:
            raise InputError("expected one table for every pair of columns, got others.")
        self._tables = dict(zip(pairs, seen, strict=True))

    @staticmethod
    def of_rows(
        schema: Schema, columns: Sequence[str], ids: Int64[Tensor, "rows features"], name: str = ""
    ) -> "SeenTogether":
        """The pairs that rows have."""
        places = indices_of(schema, columns, least=2)
        cells = sum(schema.cardinalities[i] * schema.cardinalities[j] for i, j in combinations(places, 2))
        if cells > MOST_CELLS:
            raise InputError(
                f"expected columns with at most {MOST_CELLS:,} pairs of values together, got {cells:,}. "
                "Name fewer columns, without those of many values."
            )
        seen = []
        for one, two in combinations(places, 2):
            table = torch.zeros(schema.cardinalities[one], schema.cardinalities[two], dtype=torch.bool, device="cpu")
            table[ids[:, one], ids[:, two]] = True
            seen.append(table)
        return SeenTogether(schema, columns, seen, name)

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """Whether all pairs occur of which the attacker wrote a value."""
        changed = written != clean
        keeps = torch.ones(changed.shape[:-1], dtype=torch.bool, device=written.device)
        for (one, two), table in self._tables.items():
            known = table.to(written.device)[written[..., one], written[..., two]]
            keeps &= known | ~(changed[..., one] | changed[..., two])
        return keeps

    def to_json(self) -> dict[str, Any]:
        """The columns by name, and the tables as bits."""
        bits = [base64.b64encode(np.packbits(table.numpy()).tobytes()).decode() for table in self._tables.values()]
        return {"kind": self.kind, "name": self.name, "columns": names_of(self._schema, self.columns), "seen": bits}

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "SeenTogether":
        """Inverse of `to_json`."""
        columns = indices_of(schema, value["columns"], least=2)
        seen = []
        for (one, two), bits in zip(combinations(columns, 2), value["seen"], strict=True):
            shape = schema.cardinalities[one], schema.cardinalities[two]
            packed = np.frombuffer(base64.b64decode(bits, validate=True), dtype=np.uint8)
            if len(packed) != -(-shape[0] * shape[1] // 8):
                raise InputError("expected a table of the columns' values, got one of another size.")
            cells = np.unpackbits(packed, count=shape[0] * shape[1]).astype(np.bool_)
            seen.append(torch.from_numpy(cells.reshape(shape)))
        return SeenTogether(schema, value["columns"], seen, value["name"])
