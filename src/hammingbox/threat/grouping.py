"""Columns that relations tie together, as one feature whose options are the joint assignments.

A relation between columns makes S(x) something else than a product: (Paris, France) and (Rome, Italy) are points,
(Paris, Italy) is not. Tied columns therefore become one feature of the layout. Its options are the joint assignments
that keep the relations, so that S(x) is a product again, and whoever changes the city changes the country with it.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import torch
from jaxtyping import Int64
from torch import Tensor

MOST_ASSIGNMENTS = 2**21
"""Joint assignments of a group that are looked at for a row; with more, only those with few changed columns are."""

MOST_JOINT_OPTIONS = 2**14
"""Joint assignments of a group that become options of a row: the cheapest."""


class Grouping:
    """How columns form the features of a layout.

    Attributes:
        groups: the columns of each feature, in the order of their first columns.
        group_of: the feature of each column.
        widths: options of each feature, at most.
        joint: features of more than one column.
        is_whole: for each feature, whether its table has all joint assignments within the limit of changes.
    """

    def __init__(self, widths: Sequence[int], ties: Iterable[Sequence[int]], changes: int | None = None) -> None:
        """Joins columns.

        Args:
            widths: slots of each column.
            ties: columns that belong together; sets that overlap are joined.
            changes: no row may change more columns than this.
        """
        self.groups = _joined(len(widths), ties)
        self.group_of = torch.empty(len(widths), dtype=torch.int64, device="cpu")
        self.joint = tuple(i for i, columns in enumerate(self.groups) if len(columns) > 1)
        self.widths, self.is_whole = [], []
        tables: list[Tensor] = [torch.empty(0, dtype=torch.int64, device="cpu")] * len(widths)
        for number, columns in enumerate(self.groups):
            self.group_of[list(columns)] = number
            slots, whole = _assignments([widths[column] for column in columns], changes)
            for column, of_column in zip(columns, slots.unbind(1), strict=True):
                tables[column] = of_column
            self.widths.append(min(len(slots), MOST_JOINT_OPTIONS) if len(columns) > 1 else len(slots))
            self.is_whole.append(whole)
        lengths = torch.tensor([len(table) for table in tables], dtype=torch.int64, device="cpu")
        self._offsets = torch.cumsum(lengths, 0) - lengths
        self._slots = torch.cat(tables)
        self._lengths = lengths

    def table(self, group: int) -> Int64[Tensor, "assignments members"]:
        """The slot of every column of a feature in each of its assignments; the first one is all zeros."""
        columns = self.groups[group]
        return torch.stack(
            [self._slots[self._offsets[column] : self._offsets[column] + self._lengths[column]] for column in columns],
            1,
        )

    def column_slots(self, assignments: Int64[Tensor, "*points groups"]) -> Int64[Tensor, "*points columns"]:
        """The slot of each column, from the number of each feature's assignment."""
        device = assignments.device
        return self._slots.to(device)[self._offsets.to(device) + assignments[..., self.group_of.to(device)]]

    def slots_of_column(
        self, column: Int64[Tensor, "pairs"], assignments: Int64[Tensor, "batch pairs"]
    ) -> Int64[Tensor, "batch pairs"]:
        """The slot that an assignment gives to one of its columns."""
        device = assignments.device
        return self._slots.to(device)[self._offsets.to(device)[column] + assignments]


def _joined(columns: int, ties: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Sets of columns, the overlapping ones joined, and every other column alone."""
    owner = list(range(columns))
    for tie in ties:
        owners = {owner[column] for column in tie}
        owner = [min(owners) if one in owners else one for one in owner]
    members: dict[int, list[int]] = {}
    for column, one in enumerate(owner):
        members.setdefault(one, []).append(column)
    return tuple(tuple(found) for _, found in sorted(members.items()))


def _assignments(widths: Sequence[int], changes: int | None) -> tuple[Int64[Tensor, "assignments members"], bool]:
    """All combinations of slots, by the number of changed columns, and whether none is left out that matters."""
    if len(widths) == 1:
        return torch.arange(widths[0], device="cpu")[:, None], True
    most = len(widths) if changes is None else min(changes, len(widths))
    depth, total = 0, 1
    while depth < most and total + (more := _with_changes(widths, depth + 1)) <= MOST_ASSIGNMENTS:
        depth, total = depth + 1, total + more
    parts = [torch.zeros(1, len(widths), dtype=torch.int64, device="cpu")]
    for k in range(1, depth + 1):
        for chosen in combinations(range(len(widths)), k):
            slots = torch.cartesian_prod(*(torch.arange(1, widths[i], device="cpu") for i in chosen)).view(-1, k)
            part = torch.zeros(len(slots), len(widths), dtype=torch.int64, device="cpu")
            part[:, list(chosen)] = slots
            parts.append(part)
    return torch.cat(parts), depth == most


def _with_changes(widths: Sequence[int], changes: int) -> int:
    """How many assignments change so many columns: an elementary symmetric polynomial of the numbers of changes."""
    by_changes = [1] + [0] * changes
    for width in widths:
        by_changes = [1] + [by_changes[k] + by_changes[k - 1] * (width - 1) for k in range(1, changes + 1)]
    return by_changes[changes]
