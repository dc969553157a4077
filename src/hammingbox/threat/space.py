"""Spaces map rows to their candidates. The simplest one lets every feature take every category of its column."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import torch

from hammingbox.data.schema import Schema
from hammingbox.threat.candidates import Candidates, hamming
from hammingbox.threat.layout import Layout
from hammingbox.threat.rules.unit import Unit
from hammingbox.types import Ids, OptionIds, OptionMask, RowInt, RowMask


class Space(ABC):
    """Maps rows to their candidates.

    The layout is a constant of the space, so the noise drawn for a row never depends on its batch.
    """

    schema: Schema

    @abstractmethod
    def slots_of(self, ids: Ids) -> Candidates:
        """S(x) of a batch of rows that are known to fit the schema. A space of your own implements this."""

    @final
    def candidates(self, ids: Ids) -> Candidates:
        """S(x) of a batch of rows.

        Raises:
            InputError: the rows do not fit the schema.
        """
        return self.slots_of(self.schema.as_ids(ids))

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a result file needs to build this space again."""

    @property
    def unit(self) -> Unit | None:
        """What a budget counts: ticks of this unit, or changed features if there is none."""
        return None

    def distance(self, x: Ids, written: Ids) -> RowInt:
        """Changed features of rows."""
        return hamming(x, written)

    def cost(self, x: Ids, written: Ids) -> RowInt:
        """What rows take from the budget."""
        return hamming(x, written)

    def affords(self, x: Ids, written: Ids, budget: int) -> RowMask:
        """Whether rows keep to the budget."""
        return hamming(x, written) <= budget

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.schema.features):,} features)"

    def check_identity(self) -> None:  # noqa: B027
        """Checks that equal `to_json` means equal S(x), which whoever continues a recorded run relies on.

        Raises:
            InputError: it does not.
        """


class FullSpace(Space):
    """Every feature may take every category of its column (the paper's S(x) for tables, DNA and event logs)."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._widths: Sequence[int] = schema.cardinalities

    def slots_of(self, ids: Ids) -> Candidates:
        """Slot j is category j, except that the clean category and category 0 change places."""
        layout = Layout.of(self._widths, ids.device)
        categories = layout.slot_of.repeat(len(ids), 1)
        # A feature that may not change has one slot: its exchange partner does not exist, slot 0 is set last.
        partner = layout.starts + torch.where(ids < layout.widths, ids, 0)
        categories.scatter_(1, partner, 0)
        categories.scatter_(1, layout.starts.expand_as(ids), ids)
        return Candidates(layout, categories, self._valid(ids, layout, categories), by_category=True)

    def _valid(self, _ids: Ids, _layout: Layout, categories: OptionIds) -> OptionMask:
        return torch.ones_like(categories, dtype=torch.bool)

    def to_json(self) -> dict[str, Any]:
        """The kind alone: everything else is in the schema."""
        return {"kind": "full"}
