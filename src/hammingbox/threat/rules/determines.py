"""Functional dependency: some columns decide another one, as a city decides its country."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Int, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.keys import TupleIndex
from hammingbox.threat.rules.relation import (
    PointIds,
    PointMask,
    Relation,
    ids_of_texts,
    indices_of,
    names_of,
    texts_of_ids,
)


class Determines(Relation):
    """The values of some columns decide the value of another.

    Args:
        schema: what the ids mean.
        by: names of the columns that decide.
        column: the name of the column that is decided.
        table: rows of the deciding values and then the decided one, as values or as ids. What the table does not
            have cannot be written.
        name: what reports call it.

    Raises:
        InputError: an unknown column or category, an empty table, or one that decides twice.
    """

    kind = "determines"

    def __init__(
        self,
        schema: Schema,
        by: Sequence[str],
        column: str,
        table: Sequence[Sequence[str]] | Int64[Tensor, "rows columns"],
        name: str = "",
    ) -> None:
        self._schema = schema
        indices_of(schema, by)
        self.columns = indices_of(schema, [*by, column], least=2)
        self.name = name or f"{', '.join(by)} decides {column}"
        ids = (table if isinstance(table, Tensor) else ids_of_texts(schema, self.columns, table)).long()
        ids = TupleIndex(ids, tuple(schema.cardinalities[c] for c in self.columns)).distinct(ids)
        if not len(ids):
            raise InputError(f"expected a table of what {', '.join(by)} decides, got none.")
        self.table = ids
        """The deciding ids and the decided one, sorted."""
        self._index = TupleIndex(ids[:, :-1], tuple(schema.cardinalities[c] for c in self.columns[:-1]))
        if self._index.rows < len(ids):
            twice = int(torch.bincount(self._index.code).argmax())
            key, *_ = texts_of_ids(schema, self.columns[:-1], ids[self._index.code == twice][:, :-1])
            raise InputError(
                f"expected one value of {column!r} for each of {', '.join(by)}, got several for {', '.join(key)}. "
                'Delete all but one, or use kind = "combinations".'
            )
        self._decided = torch.empty(len(ids), dtype=torch.int64, device="cpu")
        self._decided[self._index.code] = ids[:, -1]

    @staticmethod
    def of_rows(
        schema: Schema, by: Sequence[str], column: str, ids: Int[Tensor, "rows features"], name: str = ""
    ) -> "Determines":
        """The dependency that rows show: each key decides its most frequent value, whatever a few wrong rows say."""
        columns = [schema.feature_index(n) for n in (*by, column)]
        sizes, own = tuple(schema.cardinalities[c] for c in columns), ids[:, columns].long()
        index = TupleIndex(own, sizes)
        rows, counts = index.distinct(own), torch.bincount(index.code)
        key = TupleIndex(rows[:, :-1], sizes[:-1]).code
        # By key, and the most frequent value of a key first; equal counts keep the order of ids.
        order = torch.argsort(counts, descending=True, stable=True)
        order = order[torch.argsort(key[order], stable=True)]
        first = torch.ones(len(order), dtype=torch.bool, device="cpu")
        first[1:] = key[order][1:] != key[order][:-1]
        return Determines(schema, by, column, rows[order[first]], name)

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:  # noqa: ARG002
        """Whether the decided column is what the table says."""
        return self.decided(written[..., :-1]) == written[..., -1]

    def decided(self, by: Int64[Tensor, "*points k"]) -> Int64[Tensor, "*points"]:
        """The id that the table decides; -1 where it says nothing."""
        code = self._index.find(by)
        return torch.where(code >= 0, self._decided.to(by.device)[code.clamp(min=0)], -1)

    def to_json(self) -> dict[str, Any]:
        """The whole table as texts."""
        *by, column = names_of(self._schema, self.columns)
        table = texts_of_ids(self._schema, self.columns, self.table)
        return {"kind": self.kind, "name": self.name, "by": by, "column": column, "table": table}

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "Determines":
        """Inverse of `to_json`."""
        return Determines(schema, value["by"], value["column"], value["table"], value["name"])
