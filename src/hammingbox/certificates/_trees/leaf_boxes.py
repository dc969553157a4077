"""A tree ensemble as a list of leaves, each with the categories that lead to it.

A leaf is a box: for every feature on its path, the set of categories for which all of the path's splits go its way. A
row is in exactly one box of each tree. Search asks how many features of a row lie outside of a box.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hammingbox.victims.trees.ensemble import BoolArray, FloatArray, IntArray, TreeEnsemble


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The leaves of an ensemble that some row can reach.

    Attributes:
        values: (leaves, classes) what a leaf adds to each class.
        tree: (leaves) the tree of each leaf.
        features: (leaves, width) the features on its path, in increasing order; the places that are left over hold a
            feature that does not exist (the number of features).
        sets: (leaves, width) the set of categories of each such feature; the places that are left over hold set 0,
            which every category is in.
        set_feature: (sets) the feature of a set.
        set_offset: (sets) where its bits begin in `member`.
        member: `member[set_offset + category]` says whether a category is in a set.
        groups: (features, categories) categories of a feature with equal numbers are in the same sets: no tree tells
            them apart.
    """

    values: FloatArray
    tree: IntArray
    features: IntArray
    sets: IntArray
    set_feature: IntArray
    set_offset: IntArray
    member: BoolArray
    groups: IntArray

    @staticmethod
    def of(ensemble: TreeEnsemble) -> "LeafBoxes":
        """Walks every path once."""
        sets = _Sets(ensemble.cardinalities)
        leaves: list[int] = []
        paths: list[list[tuple[int, int]]] = []
        for root in ensemble.roots.tolist():
            waiting: list[tuple[int, dict[int, BoolArray]]] = [(root, {})]
            while waiting:
                node, box = waiting.pop()
                if ensemble.is_leaf[node]:
                    leaves.append(node)
                    paths.append(sorted((f, sets.number(f, allowed)) for f, allowed in box.items()))
                    continue
                feature, begin = int(ensemble.feature[node]), int(ensemble.offset[node])
                goes_left = ensemble.table[begin : begin + ensemble.cardinalities[feature]]
                for child, side in ((ensemble.left[node], goes_left), (ensemble.right[node], ~goes_left)):
                    allowed = box[feature] & side if feature in box else side
                    if allowed.any():  # nothing reaches the others
                        waiting.append((int(child), {**box, feature: allowed}))
        width = max(1, max(map(len, paths)))
        nothing = (len(ensemble.cardinalities), 0)
        padded = np.array([path + [nothing] * (width - len(path)) for path in paths], dtype=np.int64)
        return LeafBoxes(
            values=ensemble.values[leaves],
            tree=ensemble.tree_of[leaves],
            features=np.ascontiguousarray(padded[:, :, 0]),
            sets=np.ascontiguousarray(padded[:, :, 1]),
            set_feature=np.array(sets.features, dtype=np.int64),
            set_offset=np.array(sets.offsets, dtype=np.int64),
            member=np.concatenate(sets.parts),
            groups=sets.groups(),
        )

    @cached_property
    def by_feature(self) -> tuple[IntArray, IntArray]:
        """All sets but set 0, sorted by feature, and (features + 1) where those of each feature begin."""
        order = np.argsort(self.set_feature[1:], kind="stable") + 1
        return order, np.searchsorted(self.set_feature[order], np.arange(len(self.groups) + 1))


class _Sets:
    """Collects sets of categories; equal sets of a feature share a number. Set 0 holds everything."""

    def __init__(self, cardinalities: tuple[int, ...]) -> None:
        self._cardinalities = cardinalities
        self._numbers: dict[tuple[int, bytes], int] = {}
        self.features, self.offsets = [0], [0]
        self.parts: list[BoolArray] = [np.ones(max(cardinalities), dtype=np.bool_)]
        self._size = len(self.parts[0])

    def number(self, feature: int, allowed: BoolArray) -> int:
        """The number of a set."""
        key = feature, allowed.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.parts)
            self.features.append(feature)
            self.offsets.append(self._size)
            self.parts.append(allowed)
            self._size += len(allowed)
        return self._numbers[key]

    def groups(self) -> IntArray:
        """Categories of a feature that no set tells apart have equal numbers."""
        groups = np.zeros((len(self._cardinalities), max(self._cardinalities)), dtype=np.int64)
        of_feature: dict[int, list[BoolArray]] = {}
        for feature, part in zip(self.features[1:], self.parts[1:], strict=True):
            of_feature.setdefault(feature, []).append(part)
        for feature, parts in of_feature.items():
            _, inverse = np.unique(np.packbits(np.stack(parts), axis=0), axis=1, return_inverse=True)
            groups[feature, : self._cardinalities[feature]] = inverse.ravel()
        return groups
