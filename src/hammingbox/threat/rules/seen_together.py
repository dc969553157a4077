"""Forbids what the data never shows: pairs of values that no row has together."""

import base64
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.data.value_ranges import number_of_ranges, range_codes, range_edges
from hammingbox.errors import InputError
from hammingbox.threat.rules.relation import PointIds, PointMask, Relation, indices_of, names_of

MOST_CELLS = 2**26
"""Pairs of values that are kept, over all pairs of columns."""

Edges = Mapping[str, tuple[float, ...]]
"""Where the ranges of a column begin, for columns whose values are taken by range."""


class SeenTogether(Relation):
    """Every two values of a row, at least one of them written, occur together in the data.

    It ties all its columns together, far too many to list their joint assignments, so it is checked point by point.

    Args:
        schema: what the ids mean.
        columns: names of the columns.
        seen: for every pair of them, in the order of `itertools.combinations`, which pairs of values (or of ranges)
            occur.
        name: what reports call it.
        edges: of the columns whose values are taken by range, see `range_edges`.

    Raises:
        InputError: an unknown column, fewer than two, or columns of too many values.
    """

    kind = "seen_together"
    pointwise: ClassVar[bool] = True

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[str],
        seen: Sequence[Bool[Tensor, "_ _"]],
        name: str = "",
        edges: Edges | None = None,
    ) -> None:
        self.columns = indices_of(schema, columns, least=2)
        self.name = name or "values that the data shows together"
        self._schema, self._edges = schema, dict(edges or {})
        self._codes = _codes(schema, self.columns, self._edges)
        pairs = list(combinations(range(len(self.columns)), 2))
        sizes = [int(codes.max()) + 1 for codes in self._codes]
        if [tuple(table.shape) for table in seen] != [(sizes[one], sizes[two]) for one, two in pairs]:
            raise InputError("expected one table for every pair of columns, got others.")
        self._tables = dict(zip(pairs, seen, strict=True))

    @staticmethod
    def of_rows(
        schema: Schema,
        columns: Sequence[str],
        ids: Int64[Tensor, "rows features"],
        name: str = "",
        *,
        ranges: bool = False,
    ) -> "SeenTogether":
        """The pairs that rows have.

        Args:
            schema: what the ids mean.
            columns: names of the columns.
            ids: the rows.
            name: what reports call it.
            ranges: take numbers and dates of many values by range: two amounts that differ by a cent are alike.

        Raises:
            InputError: an unknown column, fewer than two, or columns of too many values.
        """
        places = indices_of(schema, columns, least=2)
        edges: dict[str, tuple[float, ...]] = {}
        if ranges:
            most = number_of_ranges(len(ids))
            found = {
                schema.features[i].name: range_edges(schema.features[i], ids[:, i].cpu().numpy(), most) for i in places
            }
            edges = {column: own for column, own in found.items() if own}
        codes = _codes(schema, places, edges)
        sizes = [int(own.max()) + 1 for own in codes]
        cells = sum(one * two for one, two in combinations(sizes, 2))
        if cells > MOST_CELLS:
            raise InputError(
                f"expected columns with at most {MOST_CELLS:,} pairs of values together, got {cells:,}. "
                "Name fewer columns, without those of many values."
            )
        coded = [own[ids[:, i].cpu()] for own, i in zip(codes, places, strict=True)]
        seen = []
        for one, two in combinations(range(len(places)), 2):
            table = torch.zeros(sizes[one], sizes[two], dtype=torch.bool, device="cpu")
            table[coded[one], coded[two]] = True
            seen.append(table)
        return SeenTogether(schema, columns, seen, name, edges)

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """Whether all pairs occur of which the attacker wrote a value."""
        changed = written != clean
        keeps = torch.ones(changed.shape[:-1], dtype=torch.bool, device=written.device)
        coded = [codes.to(written.device)[written[..., i]] for i, codes in enumerate(self._codes)]
        for (one, two), table in self._tables.items():
            known = table.to(written.device)[coded[one], coded[two]]
            keeps &= known | ~(changed[..., one] | changed[..., two])
        return keeps

    def to_json(self) -> dict[str, Any]:
        """The columns by name, and the tables as bits."""
        bits = [base64.b64encode(np.packbits(table.numpy()).tobytes()).decode() for table in self._tables.values()]
        edges = {"edges": {name: list(own) for name, own in self._edges.items()}} if self._edges else {}
        names = names_of(self._schema, self.columns)
        return {"kind": self.kind, "name": self.name, "columns": names, "seen": bits} | edges

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "SeenTogether":
        """Inverse of `to_json`."""
        columns = indices_of(schema, value["columns"], least=2)
        edges = {name: tuple(map(float, own)) for name, own in value.get("edges", {}).items()}
        for own in edges.values():
            if any(not low < high for low, high in pairwise(own)):
                raise InputError("expected ranges in increasing order, got others.")
        sizes = [int(codes.max()) + 1 for codes in _codes(schema, columns, edges)]
        seen = []
        for shape, bits in zip(combinations(sizes, 2), value["seen"], strict=True):
            packed = np.frombuffer(base64.b64decode(bits, validate=True), dtype=np.uint8)
            if len(packed) != -(-shape[0] * shape[1] // 8):
                raise InputError("expected a table of the columns' values, got one of another size.")
            cells = np.unpackbits(packed, count=shape[0] * shape[1]).astype(np.bool_)
            seen.append(torch.from_numpy(cells.reshape(shape)))
        return SeenTogether(schema, value["columns"], seen, value["name"], edges)


def _codes(schema: Schema, columns: Sequence[int], edges: Edges) -> list[Int64[Tensor, "categories"]]:
    """The code of every value of some columns: its id, or its range.

    Raises:
        InputError: ranges of a column that has no order.
    """
    features = [schema.features[column] for column in columns]
    for feature in features:
        if feature.name in edges and not feature.is_ordered:
            raise InputError(f"expected ranges of numbers or dates, got some of {feature.name!r}.")
    return [torch.from_numpy(range_codes(feature, edges.get(feature.name, ()))) for feature in features]
