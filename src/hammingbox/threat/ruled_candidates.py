"""S(x) under prices and relations, again as slots: what an option takes from the purse, and which columns it writes."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from hammingbox.threat.candidates import Candidates, Purse, Tolls
from hammingbox.threat.grouping import Grouping
from hammingbox.threat.layout import Layout
from hammingbox.threat.rules.rules import Rules
from hammingbox.types import Ids, OptionIds, OptionMask, PointRows, PointSlots, RowMask, Slots, Weights

NO_LIMIT = 2**60
"""Ticks or changes of a purse that is never empty. Sums of a few of them do not overflow."""

_COMBINATIONS = 2**14
"""Points of one row that are tried to see whether anything can be written at all."""

_CELLS_AT_ONCE = 2**22
"""Cells of joint assignments that relations are checked on at once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RuledCandidates(Candidates):
    """S(x) of a batch under rules.

    A feature of the layout is a column, or several columns that relations tie together (see `Grouping`). Columns that
    are derived from others have no options: they are recomputed whenever a row is written.

    Attributes:
        rules: prices, relations and derived columns.
        single: options of single columns, as the space without rules offers them.
        grouping: which columns form a feature.
        assignments: the assignment of its feature's columns that each option stands for.
        allowance: what each row may spend at most, whatever the budget.
        whole: rows in which every joint assignment that keeps the relations is an option.
    """

    tolls: Tolls
    rules: Rules
    single: Candidates
    grouping: Grouping
    assignments: OptionIds
    allowance: Purse
    whole: RowMask

    @staticmethod
    def of(x: Ids, single: Candidates, rules: Rules, grouping: Grouping) -> "RuledCandidates":
        """The candidates of rows.

        Args:
            x: clean rows.
            single: what the space without rules offers them.
            rules: what is dear, and what must hold.
            grouping: the columns of each feature.
        """
        price, allowed = rules.priced(x, single)
        free = torch.ones(single.layout.features, dtype=torch.bool, device=x.device)
        free[[part.column for part in rules.derived]] = False
        own = single.layout.slot_of == 0
        single = replace(single, valid=single.valid & (own | (allowed & single.layout.spread(free))))
        layout = Layout.of(tuple(grouping.widths), x.device)
        assignments = layout.slot_of.repeat(len(x), 1)
        valid = torch.zeros(assignments.shape, dtype=torch.bool, device=x.device)
        tolls = torch.zeros(*assignments.shape, 2, dtype=torch.int64, device=x.device)
        whole = torch.ones(len(x), dtype=torch.bool, device=x.device)
        for feature, columns in enumerate(grouping.groups):
            start, width = int(layout.starts[feature]), grouping.widths[feature]
            place = slice(start, start + width)
            if not _governed(columns, rules):
                where = int(single.layout.starts[columns[0]])
                options = slice(where, where + width)
                valid[:, place] = single.valid[:, options]
                tolls[:, place, 0] = (single.layout.slot_of[options] != 0).long()
                tolls[:, place, 1] = price[:, options]
                continue
            found = _joint_options(x, single, price, rules, grouping, feature)
            assignments[:, place], valid[:, place], tolls[:, place], complete = found
            whole &= complete & grouping.is_whole[feature]
        ids = torch.full_like(assignments, -1)
        return RuledCandidates(
            layout,
            ids,
            valid,
            tolls=tolls,
            rules=rules,
            single=single,
            grouping=grouping,
            assignments=assignments,
            allowance=purse_of(rules, x, None),
            whole=whole,
        )

    def take(self, rows: Shaped[Tensor, "some"]) -> "RuledCandidates":
        """The candidates of some rows."""
        return replace(
            self,
            ids=self.ids[rows],
            valid=self.valid[rows],
            tolls=self.tolls[rows],
            single=self.single.take(rows),
            assignments=self.assignments[rows],
            allowance=self.allowance[rows],
            whole=self.whole[rows],
        )

    def copy(self) -> "RuledCandidates":
        """The same candidates with tensors of their own. Rules and grouping are shared: the judge counts by its own."""
        everyone = torch.arange(len(self), device=self.ids.device)
        return replace(self.take(everyone), layout=self.layout.copy(), single=self.single.copy())

    @property
    def is_whole(self) -> RowMask:
        """Rows in which every joint assignment that keeps the relations is an option."""
        return self.whole

    @property
    def columns(self) -> Candidates:
        """The options of single columns."""
        return self.single

    @property
    def computed_columns(self) -> tuple[int, ...]:
        """The derived columns."""
        return tuple(part.column for part in self.rules.derived)

    @cached_property
    def clean(self) -> Ids:
        """The clean rows."""
        return self.single.clean

    @property
    def priced(self) -> bool:
        """Where there are prices."""
        return self.rules.unit is not None

    def purse(self, budget: int) -> Purse:
        """What each row may spend: the budget counts ticks where there are prices, and changes where there are none."""
        return self.allowance.minimum(_limit(self.rules, budget, self.ids.device))

    def most_changes(self, budget: int) -> int:
        """All features of the layout, or fewer if the number of changes has a limit."""
        limits = [self.layout.features]
        limits += [] if self.rules.unit is not None else [budget]
        limits += [] if self.rules.changes is None else [self.rules.changes]
        return min(limits)

    @cached_property
    def changeable(self) -> RowMask:
        """Rows of which something else can be written, at whatever price.

        A row counts as changeable where not everything could be tried: more joint assignments than options, or more
        than `_COMBINATIONS` points none of which changes a single feature.
        """
        able = self.within(self._any_price).moves
        found = able.any(1)
        if self.rules.derived or any(relation.pointwise for relation in self.rules.relations):
            alone = self._has_writable_change(able)
            for row in (found & ~alone).nonzero()[:, 0].tolist():
                found[row] = self._has_writable_combination(row, able[row])
        return found | ~self.whole

    @property
    def _any_price(self) -> Purse:
        """What a row may spend that pays whatever is asked, but changes no more columns than rules allow."""
        most = NO_LIMIT if self.rules.changes is None else self.rules.changes
        return torch.tensor([most, NO_LIMIT], device=self.ids.device).expand(len(self), 2)

    def _has_writable_change(self, able: OptionMask) -> RowMask:
        """Rows that have an option which can be written alone. Nearly always the first one can."""
        found, (_, option), counts = able.any(1) & False, able.nonzero().unbind(1), able.sum(1)
        first, tried, width = counts.cumsum(0) - counts, 0, 1
        rows = (counts > 0).nonzero()[:, 0]
        while len(rows):
            places = torch.arange(tried, tried + width, device=rows.device).minimum(counts[rows, None] - 1)
            chosen = option[first[rows, None] + places].flatten()
            slots = torch.zeros(len(chosen), self.layout.features, dtype=torch.int64, device=rows.device)
            slots.scatter_(1, self.layout.feature_of[chosen][:, None], self.layout.slot_of[chosen][:, None])
            found[rows] = self.writable(rows.repeat_interleave(width), slots).view(-1, width).any(1)
            tried, width = tried + width, min(2 * width, 64)
            rows = rows[~found[rows] & (tried < counts[rows])]
        return found

    def _has_writable_combination(self, row: int, able: Bool[Tensor, "options"]) -> bool:
        """Whether some options of a row can be written together; True where they are too many to be tried."""
        features = sorted(set(self.layout.feature_of[able].tolist()))
        own = self.layout.slot_of == 0
        choices = [self.layout.slot_of[(able | own) & (self.layout.feature_of == feature)] for feature in features]
        if prod(len(slots) for slots in choices) > _COMBINATIONS:
            return True
        points = torch.cartesian_prod(*choices).view(-1, len(features))[1:]  # the first one changes nothing
        slots = torch.zeros(len(points), self.layout.features, dtype=torch.int64, device=points.device)
        slots[:, features] = points
        rows = torch.full((len(points),), row, device=points.device)
        spent = self.tolls[row, self.layout.starts + slots].sum(1)
        return bool(((spent <= self._any_price[row]).all(1) & self.writable(rows, slots)).any())

    # Writing rows ----------------------------------------------------------------------------------------------

    def select(self, slots: Slots) -> Int64[Tensor, "batch columns"]:
        """The rows that slots stand for, derived columns included."""
        return self.select_points(torch.arange(len(self), device=slots.device), slots)

    def select_points(self, rows: PointRows, slots: PointSlots) -> Int64[Tensor, "points columns"]:
        """The rows that a ragged list of (batch row, slots) stands for, derived columns included."""
        return self._completed(rows, slots)[0]

    def writable(self, rows: PointRows, slots: PointSlots) -> Bool[Tensor, "points"]:
        """Whether derived columns have values that the schema knows, and relations hold that tie too many columns."""
        pointwise = [relation for relation in self.rules.relations if relation.pointwise]
        if not self.rules.derived and not pointwise:
            return torch.ones(len(rows), dtype=torch.bool, device=rows.device)
        written, able = self._completed(rows, slots)
        clean = self.clean[rows]
        for relation in pointwise:
            columns = list(relation.columns)
            new, old = written[:, columns], clean[:, columns]
            able &= relation.holds(new, old) | (new == old).all(1)
        return able

    def _completed(
        self, rows: PointRows, slots: PointSlots
    ) -> tuple[Int64[Tensor, "points columns"], Bool[Tensor, "points"]]:
        written = self.single.select_points(rows, self._column_slots(rows, slots))
        return self.rules.complete(written, self.clean[rows]) if self.rules.derived else (written, rows >= 0)

    def _column_slots(self, rows: PointRows, slots: PointSlots) -> Int64[Tensor, "points columns"]:
        if not self.grouping.joint:
            return slots
        return self.grouping.column_slots(self.assignments[rows[:, None], self.layout.starts + slots])

    def contains(self, ids: Ids) -> RowMask:
        """Whether rows given as ids lie in S(x), by the rules themselves and not by the options."""
        plain = ids.clone()
        derived = [part.column for part in self.rules.derived]
        plain[:, derived] = self.clean[:, derived]  # their values follow from the others, whatever they are
        return self.single.contains(plain) & self.rules.hold(self.clean, ids)

    # Soft rows -------------------------------------------------------------------------------------------------

    def column_weights(self, weights: Weights) -> Float[Tensor, "batch samples column_options"]:
        """The share of every option of a single column: the sum over the joint options that write it."""
        if not self.grouping.joint and self.layout.options == self.single.layout.options:
            return weights
        option, target = self._pairs
        mixed = torch.zeros(*weights.shape[:2], self.single.layout.options, device=weights.device, dtype=weights.dtype)
        return mixed.scatter_add(2, target[:, None].expand(-1, weights.shape[1], -1), weights[:, :, option])

    @cached_property
    def _pairs(self) -> tuple[Int64[Tensor, "pairs"], Int64[Tensor, "batch pairs"]]:
        """Every option with each of its columns, and the column's option that it writes in each row."""
        device = self.ids.device
        groups = [
            (
                self._options_of(feature).repeat(len(columns)),
                torch.tensor(columns, device=device).repeat_interleave(width),
            )
            for feature, (columns, width) in enumerate(zip(self.grouping.groups, self.grouping.widths, strict=True))
        ]
        option = torch.cat([part for part, _ in groups]).to(device)
        column = torch.cat([part for _, part in groups]).to(device)
        slots = self.grouping.slots_of_column(column, self.assignments[:, option])
        return option, self.single.layout.starts[column] + slots

    def _options_of(self, feature: int) -> Int64[Tensor, "options"]:
        start = int(self.layout.starts[feature])
        return torch.arange(start, start + self.grouping.widths[feature], device=self.ids.device)


def purse_of(rules: Rules, x: Ids, budget: int | None) -> Purse:
    """What rows may spend under rules: changes and ticks. Without a budget, whatever their success is worth."""
    most = torch.full((len(x), 2), NO_LIMIT, dtype=torch.int64, device=x.device)
    if rules.changes is not None:
        most[:, 0] = rules.changes
    gain = rules.allowance(x)
    if gain is not None:
        most[:, 1] = gain
    return most if budget is None else most.minimum(_limit(rules, budget, x.device))


def _limit(rules: Rules, budget: int, device: torch.device) -> Int64[Tensor, "2"]:
    return torch.tensor([NO_LIMIT, budget] if rules.unit is not None else [budget, NO_LIMIT], device=device)


def _governed(columns: tuple[int, ...], rules: Rules) -> bool:
    """Whether a relation says something about these columns."""
    return any(relation.columns[0] in columns for relation in rules.relations if not relation.pointwise)


def _joint_options(
    x: Ids, single: Candidates, price: OptionIds, rules: Rules, grouping: Grouping, feature: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The joint assignments of a feature's columns that keep the relations, row by row.

    Returns:
        assignments: (batch, width) numbers of assignments.
        valid: (batch, width).
        tolls: (batch, width, 2).
        complete: (batch,) whether no assignment was left out for want of room.
    """
    table, width = grouping.table(feature).to(x.device), grouping.widths[feature]
    starts = single.layout.starts[list(grouping.groups[feature])]
    rows_at_once = max(1, _CELLS_AT_ONCE // table.numel())
    parts = []
    for rows in torch.arange(len(x), device=x.device).split(rows_at_once):
        options = starts + table  # (assignments, members)
        able = single.valid[rows][:, options].all(2)
        cost = price[rows][:, options].sum(2)
        changes = (table != 0).sum(1).expand_as(cost)
        able &= _relations_hold(x[rows], single.ids[rows][:, options], rules, grouping.groups[feature])
        able[:, 0] = True  # a row that breaks a relation itself is still a row
        number = torch.arange(len(table), device=x.device).expand_as(cost)
        complete = torch.ones(len(rows), dtype=torch.bool, device=x.device)
        if len(table) > width:
            # The cheapest first, then the fewest changes; what may not be written comes last. Slot 0 is first: it is
            # free and changes nothing.
            rank = torch.where(able, cost * (1 + table.shape[1]) + changes, torch.iinfo(torch.int64).max)
            rank[:, 0] = -1
            kept = rank.argsort(dim=1, stable=True)[:, :width]
            complete = able.sum(1) <= width
            number, able, cost, changes = (part.gather(1, kept) for part in (number, able, cost, changes))
        parts.append((number, able, torch.stack([changes, cost], 2), complete))
    number, able, tolls, complete = (torch.cat(part) for part in zip(*parts, strict=True))
    return number, able, tolls, complete


def _relations_hold(
    x: Ids, written: Int64[Tensor, "batch assignments members"], rules: Rules, columns: tuple[int, ...]
) -> Shaped[Tensor, "batch assignments"]:
    """Whether joint assignments keep all relations that lie within their columns."""
    holds = torch.ones(written.shape[:2], dtype=torch.bool, device=x.device)
    place = {column: i for i, column in enumerate(columns)}
    for part in rules.derived:
        if part.column in place:
            inputs = written[:, :, [place[column] for column in part.inputs]]
            touched = (inputs != x[:, None, list(part.inputs)]).any(2)
            value = torch.where(touched, part.compute(inputs), written[:, :, place[part.column]])
            holds &= value >= 0
            written[:, :, place[part.column]] = value
    for relation in rules.relations:
        if relation.pointwise or relation.columns[0] not in place:
            continue
        there = [place[column] for column in relation.columns]
        new, old = written[:, :, there], x[:, None, list(relation.columns)]
        holds &= relation.holds(new, old) | (new == old).all(2)
    return holds
