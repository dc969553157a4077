"""S(x) of a table with numbers: a feature's own value, and the few values that an attacker may write in its place."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.data.schema import Feature, Schema
from hammingbox.data.table_schema import TableSchema
from hammingbox.data.values import stepped
from hammingbox.errors import InputError
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.layout import Layout
from hammingbox.threat.masked_space import EVERY_FEATURE, check_lists
from hammingbox.threat.space import Space
from hammingbox.types import Ids

Values = Sequence[str | int | float] | Int64[Tensor, "ids"]
"""Values as texts or numbers, or ids as a tensor."""

_NONE = -1
"""The id of a step that leads to no value."""


class TableSpace(Space):
    """Slot 0 is the row's own value, whatever it is; the other slots are what an attacker may write.

    How many distinct values a column has does not matter: a column of 20,000 amounts of which ten are offered has
    eleven slots. A candidate that equals the row's own value is not valid, so every other slot is a change.

    Args:
        schema: what the ids mean.
        options: for a feature, the values that may be written; every value of a feature that is not named here, and
            no value of a feature that has steps only.
        steps: for a feature of numbers or dates, what may be added to the row's own value (days for a date). A step is
            valid where it leads to a value that the schema knows.
        immutable: names of features that never change.
        forbidden: for a feature (or "*", every feature), values that may not be written.

    Raises:
        InputError: an unknown feature or value, steps of a category, or nothing that may be written.
    """

    def __init__(
        self,
        schema: Schema,
        options: Mapping[str, Values] | None = None,
        *,
        steps: Mapping[str, Sequence[int | float]] | None = None,
        immutable: Sequence[str] = (),
        forbidden: Mapping[str, Sequence[str | int | float]] | None = None,
    ) -> None:
        self.schema = schema
        check_lists({"immutable": immutable}, "features")
        self.immutable = tuple(immutable)
        self.steps = {name: tuple(map(float, sizes)) for name, sizes in (steps or {}).items()}
        named = {name: _ids_of(schema, name, values) for name, values in (options or {}).items()}
        self.options = {
            name: tuple(schema.features[schema.feature_index(name)].categories[i] for i in ids)
            for name, ids in named.items()
        }
        self.forbidden = {name: tuple(map(str, values)) for name, values in (forbidden or {}).items()}
        frozen = {schema.feature_index(name) for name in immutable}
        barred = self._barred(forbidden or {})
        offered = [
            torch.empty(0, dtype=torch.int64, device="cpu") if i in frozen else self._offered(feature, named, barred[i])
            for i, feature in enumerate(schema.features)
        ]
        self._steps = {
            index: _step_table(schema.features[index], sizes, barred[index])
            for index, sizes in ((schema.feature_index(name), sizes) for name, sizes in self.steps.items())
            if index not in frozen
        }
        self._widths = tuple(
            1 + len(ids) + (self._steps[i].shape[0] if i in self._steps else 0) for i, ids in enumerate(offered)
        )
        self._layout = Layout.of(self._widths, torch.device("cpu"))
        self._shared = torch.full((self._layout.options,), _NONE, dtype=torch.int64, device="cpu")
        for start, ids in zip(self._layout.starts.tolist(), offered, strict=True):
            self._shared[start + 1 : start + 1 + len(ids)] = ids
        if all(width == 1 for width in self._widths):
            raise InputError("expected a value that may be written, got an empty space. Free a feature or a value.")

    @classmethod
    def of(cls, table: TableSchema) -> "TableSpace":
        """What the schema of a loaded table says that an attacker may do."""
        return cls(table.schema, table.options, steps=table.steps, immutable=table.immutable, forbidden=table.forbidden)

    def slots_of(self, ids: Ids) -> Candidates:
        """Slot 0 is the row's own value; then come the offered values in the order of their ids, then the steps."""
        layout = Layout.of(self._widths, ids.device)
        options = self._shared.to(ids.device).repeat(len(ids), 1)
        options[:, layout.starts] = ids
        for feature, table in self._steps.items():
            end = int(self._layout.starts[feature]) + self._widths[feature]
            options[:, end - len(table) : end] = table.to(ids.device)[:, ids[:, feature]].T
        own = layout.spread(ids)
        valid = (options != own) & (options != _NONE)
        valid[:, layout.starts] = True
        for feature, table in self._steps.items():
            _drop_repeats(options, valid, int(self._layout.starts[feature]), self._widths[feature], len(table))
        return Candidates(
            layout, torch.where(options == _NONE, own, options), valid, shared=self._shared.to(ids.device)
        )

    def to_json(self) -> dict[str, Any]:
        """Everything: the values are written as texts."""
        return {
            "kind": "table",
            "options": {name: list(values) for name, values in self.options.items()},
            "steps": {name: list(sizes) for name, sizes in self.steps.items()},
            "immutable": list(self.immutable),
            "forbidden": {name: list(values) for name, values in self.forbidden.items()},
        }

    def _offered(
        self, feature: Feature, named: Mapping[str, Sequence[int]], barred: Bool[Tensor, "categories"]
    ) -> Int64[Tensor, "ids"]:
        """The values of a feature that are offered to every row, as ids in increasing order."""
        every = [] if feature.name in self.steps else range(len(feature.categories))
        ids = torch.tensor(sorted(set(named.get(feature.name, every))), dtype=torch.int64, device="cpu")
        return ids[~barred[ids]]

    def _barred(self, forbidden: Mapping[str, Sequence[str | int | float]]) -> list[Bool[Tensor, "_"]]:
        barred = [torch.zeros(size, dtype=torch.bool, device="cpu") for size in self.schema.cardinalities]
        for name, values in forbidden.items():
            if name != EVERY_FEATURE:
                barred[self.schema.feature_index(name)][_ids_of(self.schema, name, values)] = True
                continue
            for value in _listed(name, values):
                found = [feature.id_of(value) for feature in self.schema.features]
                if all(place is None for place in found):
                    raise InputError(f"expected a value that some feature has, got {value!r:.80}.")
                for mask, place in zip(barred, found, strict=True):
                    if place is not None:
                        mask[place] = True
        return barred


def _ids_of(schema: Schema, name: str, values: Values) -> list[int]:
    """The ids of some values of a feature.

    Raises:
        InputError: a value that the feature does not have.
    """
    index = schema.feature_index(name)
    if isinstance(values, Tensor):
        ids: list[int] = values.long().tolist()
        if any(not 0 <= i < schema.cardinalities[index] for i in ids):
            raise InputError(f"expected ids 0..{schema.cardinalities[index] - 1} of feature {name!r}, got others.")
        return ids
    return [schema.category_id(index, value) for value in _listed(name, values)]


def _listed(name: str, values: Any) -> Sequence[str | int | float]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise InputError(f"expected a list of values for {name!r}, got {values!r:.80}.")
    return list(values)


def _step_table(
    feature: Feature, sizes: Sequence[int | float], barred: Bool[Tensor, "categories"]
) -> Int64[Tensor, "steps categories"]:
    """The id that each step leads to from each value; `_NONE` where it leads to no value.

    Raises:
        InputError: the feature has no order.
    """
    if not feature.is_ordered:
        raise InputError(f"expected steps of numbers or dates, got them for feature {feature.name!r} ({feature.kind}).")
    place = {number: i for i, number in enumerate(feature.numbers.tolist()) if not np.isnan(number)}
    table = torch.full((len(sizes), len(feature.categories)), _NONE, dtype=torch.int64, device="cpu")
    for row, size in enumerate(sizes):
        for number, own in place.items():
            reached = place.get(stepped(number, size, feature.kind), _NONE)
            if reached != _NONE and not barred[reached]:
                table[row, own] = reached
    return table


def _drop_repeats(options: Tensor, valid: Tensor, start: int, width: int, steps: int) -> None:
    """Marks a step that leads to what an earlier slot of the feature writes: one change is one slot."""
    for option in range(start + width - steps, start + width):
        earlier = (options[:, start:option] == options[:, option, None]) & valid[:, start:option]
        valid[:, option] &= ~earlier.any(1)
