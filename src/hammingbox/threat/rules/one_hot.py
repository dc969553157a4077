"""One-hot groups: columns of which exactly one is on."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.relation import PointIds, PointMask, Relation, indices_of, names_of

_ON = ("1", "true", "yes")


class OneHot(Relation):
    """Columns of which some number is on.

    Args:
        schema: what the ids mean.
        columns: names of the columns.
        on: the value that means on; 1, true or yes without it.
        least: how many must be on.
        most: how many may be on.
        name: what reports call it.

    Raises:
        InputError: an unknown column, a column without such a value, or bounds that no row can keep.
    """

    kind = "one_hot"

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[str],
        on: str | None = None,
        least: int = 1,
        most: int = 1,
        name: str = "",
    ) -> None:
        self._schema = schema
        self.columns = indices_of(schema, columns, least=2)
        if type(least) is not int or type(most) is not int or not 0 <= least <= most <= len(columns):
            raise InputError(f"expected 0 <= least <= most <= {len(columns)}, got least {least!r}, most {most!r}.")
        self._on, self._least, self._most = on, least, most
        self._ids = torch.tensor([_on(schema.features[c], on) for c in self.columns], device="cpu")
        self.name = name or f"one of {', '.join(columns)}"

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:  # noqa: ARG002
        """Whether as many columns are on as must be."""
        count = (written == self._ids.to(written.device)).sum(-1)
        return (count >= self._least) & (count <= self._most)

    def to_json(self) -> dict[str, Any]:
        """The columns, the value and the bounds."""
        return {
            "kind": self.kind,
            "name": self.name,
            "columns": names_of(self._schema, self.columns),
            "on": self._on,
            "least": self._least,
            "most": self._most,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any], schema: Schema) -> "OneHot":
        """Inverse of `to_json`."""
        return OneHot(schema, value["columns"], value["on"], value["least"], value["most"], value["name"])


def _on(feature: Feature, text: str | None) -> int:
    """The id of the value that means on.

    Raises:
        InputError: the column has none.
    """
    for wanted in _ON if text is None else (text,):
        for place, category in enumerate(feature.categories):
            if category == wanted or (text is None and category.lower() == wanted):
                return place
        found = feature.id_of(wanted)
        if found is not None:
            return found
    raise InputError(
        f"expected the value {text!r} in column {feature.name!r}, got none. Choose another."
        if text is not None
        else f"expected 1, true or yes in column {feature.name!r}, got none. Say which value means on: on = ..."
    )
