"""Ensembles whose trees share few features: the worst case in closed form.

Features that one tree asks about belong together. If the features fall into several such groups, the ensemble is a sum
of one function per group, and a change in one group does nothing to the others. So the worst case within r changes is
found group by group, and the changes are then shared out among the groups: a knapsack of r units, solved exactly by a
table over groups and changes. This holds for boosted stumps (every group is one feature), for large-spread ensembles
(Calzavara et al., CCS 2023: no feature in two trees) and for boosting under interaction constraints, at every r.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hammingbox.threat.candidates import Candidates
from hammingbox.victims.trees.ensemble import BoolArray, FloatArray, IntArray, TreeEnsemble

MOST_POINTS = 2048
"""Combinations of categories of a group that are tried. Larger groups are left to branch and bound."""

_NEVER = -np.inf


def feature_groups(ensemble: TreeEnsemble) -> list[list[int]]:
    """The features that trees ask about together, directly or through other trees; unused features are left out."""
    parent = list(range(len(ensemble.cardinalities)))

    def root(feature: int) -> int:
        while parent[feature] != feature:
            parent[feature] = parent[parent[feature]]
            feature = parent[feature]
        return feature

    inner = np.flatnonzero(~ensemble.is_leaf)
    first: dict[int, int] = {}
    for tree, feature in zip(ensemble.tree_of[inner].tolist(), ensemble.feature[inner].tolist(), strict=True):
        parent[root(feature)] = root(first.setdefault(tree, feature))
    groups: dict[int, list[int]] = {}
    for feature in sorted(set(ensemble.feature[inner].tolist())):
        groups.setdefault(root(feature), []).append(feature)
    return list(groups.values())


class GroupTables:
    """What each combination of categories of a group adds to each class.

    Args:
        cardinalities: categories of each feature.
        groups: the features of each group.
        classes: number of classes.
    """

    def __init__(self, cardinalities: Sequence[int], groups: Sequence[Sequence[int]], classes: int) -> None:
        self.groups = [np.array(group, dtype=np.int64) for group in groups]
        self.sizes = [tuple(cardinalities[f] for f in group) for group in groups]
        self.values: list[FloatArray] = [np.zeros((int(np.prod(size)), classes)) for size in self.sizes]
        self._of_feature = {int(f): i for i, group in enumerate(self.groups) for f in group}

    @staticmethod
    def fits(cardinalities: Sequence[int], groups: Sequence[Sequence[int]]) -> bool:
        """Whether all combinations of every group can be tried."""
        return all(np.prod([float(cardinalities[f]) for f in group]) <= MOST_POINTS for group in groups)

    def add(self, ensemble: TreeEnsemble) -> None:
        """Adds trees, each of which asks about one group only. The base of the ensemble is not added."""
        inner = ~ensemble.is_leaf
        feature_of_tree = np.full(ensemble.trees, -1)
        feature_of_tree[ensemble.tree_of[inner]] = ensemble.feature[inner]
        owner = np.array([self._of_feature.get(int(f), 0) for f in feature_of_tree])  # a constant may go anywhere
        for group in np.unique(owner):
            rows = np.zeros((len(self.values[group]), len(ensemble.cardinalities)), dtype=np.int64)
            points = np.indices(self.sizes[group]).reshape(len(self.sizes[group]), -1)
            rows[:, self.groups[group]] = points.T
            self.values[group] += ensemble.sums(rows, np.flatnonzero(owner == group))


@dataclass(frozen=True, eq=False)
class GroupPoints:
    """The points of S(x) of a batch, group by group.

    Attributes:
        place: for each group, (batch, points) the place of a point in the group's table; the first is the clean one.
        valid: for each group, (batch, points) whether S(x) allows it.
        slots: for each group, (points, features) its slots.
        changes: for each group, (points) how many features it changes.
    """

    place: list[IntArray]
    valid: list[BoolArray]
    slots: list[IntArray]
    changes: list[IntArray]

    @staticmethod
    def of(candidates: Candidates, tables: GroupTables, budget: int) -> "GroupPoints":
        """All combinations of slots of each group within the budget."""
        layout = candidates.layout
        starts, widths = layout.starts.cpu().numpy(), layout.widths.cpu().numpy()
        ids, allowed = candidates.ids.cpu().numpy(), candidates.valid.cpu().numpy()
        parts: tuple[list[IntArray], list[BoolArray], list[IntArray], list[IntArray]] = ([], [], [], [])
        for group, size in zip(tables.groups, tables.sizes, strict=True):
            slots = np.indices(tuple(widths[group])).reshape(len(group), -1).T
            slots = slots[(slots != 0).sum(1) <= budget]
            options = starts[group] + slots
            strides = np.append(np.cumprod(size[:0:-1])[::-1], 1).astype(np.int64)
            found = (
                (ids[:, options] * strides).sum(2),
                allowed[:, options].all(2),
                slots,
                (slots != 0).sum(1),
            )
            for part, value in zip(parts, found, strict=True):
                part.append(value)
        return GroupPoints(*parts)


@dataclass(frozen=True, eq=False)
class WorstCases:
    """The largest leads of every class over the losing class, for every number of changes.

    Attributes:
        leads: (batch, classes, budget + 1) with exactly so many changes; minus infinity where that is impossible.
        taken: for each group, (batch, classes, budget + 1) how many of the changes it gets.
        best: for each group, (changes, batch, classes) the point that it takes for each number of changes.
    """

    leads: FloatArray
    taken: list[IntArray]
    best: list[IntArray]

    def slots(self, tables: GroupTables, points: GroupPoints, rival: IntArray, changes: IntArray) -> IntArray:
        """(batch, features) the points that attain the leads of one rival and number of changes per row.

        Features that no tree asks about keep slot 0.
        """
        rows, left = np.arange(len(rival)), changes.copy()
        features = 1 + max(int(group.max()) for group in tables.groups)
        found = np.zeros((len(rival), features), dtype=np.int64)
        for i in reversed(range(len(self.taken))):
            used = self.taken[i][rows, rival, left]
            found[:, tables.groups[i]] = points.slots[i][self.best[i][used, rows, rival]]
            left -= used
        return found


def worst_cases(
    tables: GroupTables, points: GroupPoints, leads: FloatArray, losing: IntArray, budget: int
) -> WorstCases:
    """Shares the changes out among the groups.

    Args:
        tables: the ensemble.
        points: S(x).
        leads: (batch, classes) the leads of every class over the losing class in the clean rows.
        losing: (batch) the losing class.
        budget: the largest number of changes.
    """
    batch, classes = leads.shape
    total = np.full((batch, classes, budget + 1), _NEVER)
    total[:, :, 0] = leads
    taken, best = [], []
    rows = np.arange(batch)[:, None]
    for table, place, valid, changes in zip(tables.values, points.place, points.valid, points.changes, strict=True):
        added = table[place]  # (batch, points, classes)
        added = added - added[rows, np.arange(place.shape[1]), losing[:, None]][:, :, None]
        gain = added - added[:, :1]
        gain[~valid] = _NEVER
        most = min(budget, int(changes.max()))
        choice, value = [], []
        for count in range(most + 1):
            own = np.flatnonzero(changes == count)
            at = gain[:, own].argmax(1)
            choice.append(own[at])
            value.append(np.take_along_axis(gain[:, own], at[:, None], axis=1)[:, 0])
        after, used = np.full_like(total, _NEVER), np.zeros(total.shape, dtype=np.int64)
        for count in range(most + 1):
            reached = total[:, :, : budget + 1 - count] + value[count][:, :, None]
            better = reached > after[:, :, count:]
            after[:, :, count:] = np.where(better, reached, after[:, :, count:])
            used[:, :, count:] = np.where(better, count, used[:, :, count:])
        total = after
        taken.append(used)
        best.append(np.stack(choice))
    return WorstCases(total, taken, best)
