"""S(x), the rows an attacker may write, as slots.

Every feature offers a few slots, and slot 0 is always the clean category. An adversarial row is one slot per
feature, so the L0 distance is the number of slots that are not 0. Padding, immutable columns and words without
synonyms are features whose only valid slot is 0. An attack never sees a raw id.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from hammingbox.errors import InputError
from hammingbox.threat.layout import Layout
from hammingbox.types import Ids, OptionIds, OptionMask, PointRows, PointSlots, RowInt, RowMask, Slots, Weights

Tolls = Int64[Tensor, "batch options 2"]
"""Of each option: how many columns it changes, and how many ticks that costs."""

Purse = Int64[Tensor, "batch 2"]
"""What each row may spend: changed columns, and ticks."""


_PREPARED = 2**21
"""Options of all rows of a batch up to which lists of the valid ones are kept: 16 bytes each."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """S(x) of a batch.

    Attributes:
        layout: where the slots of each feature lie on the axis of options.
        ids: the category each option writes.
        valid: which options may be chosen; slot 0 always may.
        by_category: True when slot j of every feature writes category j, but for the exchange that brings the
            clean category to slot 0. All rows then share one table of option embeddings.
        shared: what each option writes in every row, and -1 where that depends on the row (slot 0 at least). The
            embeddings of shared options are computed once per batch. None if all depend on the row.
        tolls: what choosing each option takes from a row's purse: changed columns, and ticks of money. None where every
            change counts 1 and nothing else matters, as in the paper; see `RuledCandidates`.
    """

    layout: Layout
    ids: OptionIds
    valid: OptionMask
    by_category: bool = False
    shared: Int64[Tensor, "options"] | None = None
    tolls: Tolls | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Shaped[Tensor, "some"]) -> "Candidates":
        """The candidates of some rows."""
        if rows.dtype == torch.bool:
            rows = rows.nonzero()[:, 0]
        ids, valid = self.ids.index_select(0, rows), self.valid.index_select(0, rows)
        part = Candidates(self.layout, ids, valid, self.by_category, self.shared)
        known = vars(self)  # a search takes parts of the same rows again and again
        if "counts" in known:
            vars(part)["counts"] = self.counts.index_select(0, rows)
        if "able_features" in known:
            order, count = self.able_features
            vars(part)["able_features"] = (order.index_select(0, rows), count.index_select(0, rows))
        if "_valid_options" in known:
            options, begin = self._valid_options
            vars(part)["_valid_options"] = (options, begin.index_select(0, rows))
        return part

    def copy(self) -> "Candidates":
        """The same candidates with tensors of their own, down to the layout, which all batches of a space share."""
        shared = None if self.shared is None else self.shared.clone()
        return Candidates(self.layout.copy(), self.ids.clone(), self.valid.clone(), self.by_category, shared)

    @property
    def columns(self) -> "Candidates":
        """The same as options of single columns: what is mixed in a soft row."""
        return self

    def column_weights(self, weights: Weights) -> Float[Tensor, "batch samples column_options"]:
        """Weights of options as weights of the options of single columns."""
        return weights

    @property
    def computed_columns(self) -> tuple[int, ...]:
        """Columns without options of their own, which are computed from others when a row is written."""
        return ()

    @property
    def priced(self) -> bool:
        """Whether a budget counts ticks and not changes."""
        return False

    def purse(self, _budget: int) -> Purse | None:
        """What each row may spend under a budget; None where only the number of changes counts."""
        return None

    def most_changes(self, budget: int) -> int:
        """How many features of the layout can be changed at once. It depends on the space and not on the rows."""
        return budget

    def within(self, purse: Purse) -> "Candidates":
        """Without the options that are too dear for their row even alone."""
        if self.tolls is None:
            raise InputError("expected candidates with prices, got some without.")
        return replace(self, valid=self.valid & (self.tolls <= purse[:, None]).all(2))

    @property
    def is_whole(self) -> RowMask:
        """Rows in which every point of S(x) is a choice of options."""
        return torch.ones(len(self), dtype=torch.bool, device=self.ids.device)

    def writable(self, rows: PointRows, _slots: PointSlots) -> Bool[Tensor, "points"]:
        """Whether points can be written: always, unless a column is derived from others."""
        return torch.ones(len(rows), dtype=torch.bool, device=rows.device)

    @cached_property
    def clean(self) -> Ids:
        """The clean rows: slot 0 of every feature."""
        return self.layout.first(self.ids)

    @cached_property
    def moves(self) -> OptionMask:
        """Valid options that change their feature."""
        return self.valid & (self.layout.slot_of != 0)

    @cached_property
    def changeable(self) -> RowMask:
        """Rows that have another point than their own, whatever the budget. The others cannot be attacked."""
        return self.moves.any(1)

    @cached_property
    def counts(self) -> Int64[Tensor, "batch features"]:
        """How many valid slots each feature has, the clean one included."""
        return self.layout.reduce(self.valid, lambda rectangle: rectangle.sum(-1))

    def prepare(self) -> None:
        """Computes what parts of these rows would compute again and again, see `take`, if that takes little memory."""
        if self.valid.numel() <= _PREPARED:
            _ = self.able_features, self._valid_options

    @cached_property
    def able_features(self) -> tuple[Int64[Tensor, "batch features"], RowInt]:
        """Features in order, those that can change before those that cannot, and how many of them can."""
        able = self.counts > 1
        return able.long().argsort(dim=1, descending=True, stable=True), able.sum(1)

    def select(self, slots: Slots) -> Int64[Tensor, "batch columns"]:
        """The rows that slots stand for."""
        return self.ids.gather(1, self.layout.starts + slots)

    def select_points(self, rows: PointRows, slots: PointSlots) -> Int64[Tensor, "points columns"]:
        """The rows that a ragged list of (batch row, slots) stands for."""
        # One index per cell instead of two: a third of the time.
        cells = (slots + self.layout.starts).add_((rows * self.ids.shape[1])[:, None])
        return self.ids.reshape(-1).index_select(0, cells.reshape(-1)).view(cells.shape)

    def allows(self, slots: Slots) -> RowMask:
        """Whether every chosen slot exists and is valid."""
        exists = ((slots >= 0) & (slots < self.layout.widths)).all(1)
        options = self.layout.starts + slots.clamp(min=0).minimum(self.layout.widths - 1)
        return exists & self.valid.gather(1, options).all(1)

    def contains(self, ids: Ids) -> RowMask:
        """Whether rows given as ids lie in S(x)."""
        written = self.valid & (self.ids == self.layout.spread(ids))
        return self.layout.reduce(written, lambda rectangle: rectangle.any(-1)).all(1)

    @cached_property
    def _valid_options(self) -> tuple[Int64[Tensor, "total"], Int64[Tensor, "batch features"]]:
        """All valid options, row after row, and where the run of each (row, feature) begins."""
        counts_by_option = self.valid.sum(1)
        before_row = torch.cumsum(counts_by_option, 0) - counts_by_option
        # Slot 0 is always valid: it counts itself.
        before_option = self.layout.first(torch.cumsum(self.valid, 1)) - 1
        return self.valid.nonzero()[:, 1], before_row[:, None] + before_option

    def nth_valid(
        self,
        rows: Int64[Tensor, "points chosen"],
        features: Int64[Tensor, "points chosen"],
        n: Int64[Tensor, "points chosen"],
    ) -> Int64[Tensor, "points chosen"]:
        """The n-th valid slot (0 is the clean one) of some features of some rows."""
        options, begin = self._valid_options
        place = begin.flatten().index_select(0, (rows * begin.shape[1] + features).flatten()) + n.flatten()
        return self.layout.slot_of.index_select(0, options.index_select(0, place)).view(features.shape)


def hamming(a: Ids, b: Ids) -> RowInt:
    """L0 distance: how many features differ, row by row."""
    return (a != b).sum(1)
