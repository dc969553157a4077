"""The allowed combinations of some columns: from a list, or what the data shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxtyping import Int
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


class Combinations(Relation):
    """Only these combinations of values may stand in a row.

    Args:
        schema: what the ids mean.
        columns: names of the columns.
        allowed: the combinations, as rows of values or as ids.
        name: what reports call it.

    Raises:
        InputError: an unknown column or category, or no combination at all.
    """

    kind = "combinations"

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[str],
        allowed: Sequence[Sequence[str]] | Int[Tensor, "rows columns"],
        name: str = "",
    ) -> None:
        self._schema = schema
        self.columns = indices_of(schema, columns, least=2)
        self.name = name or f"combinations of {', '.join(columns)}"
        ids = allowed.long() if isinstance(allowed, Tensor) else ids_of_texts(schema, self.columns, allowed)
        if not len(ids):
            raise InputError(f"expected at least one allowed combination of {', '.join(columns)}, got none.")
        self._index = TupleIndex(ids, tuple(schema.cardinalities[c] for c in self.columns))
        self.allowed = self._index.distinct(ids)
        """The allowed combinations as ids, sorted."""

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:  # noqa: ARG002
        """Whether the combination is allowed."""
        return self._index.find(written) >= 0

    def to_json(self) -> dict[str, Any]:
        """All combinations as texts."""
        return {
            "kind": self.kind,
            "name": self.name,
            "columns": names_of(self._schema, self.columns),
            "allowed": texts_of_ids(self._schema, self.columns, self.allowed),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "Combinations":
        """Inverse of `to_json`."""
        return Combinations(schema, value["columns"], value["allowed"], value["name"])
