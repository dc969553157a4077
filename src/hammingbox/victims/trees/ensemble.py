"""One form for every tree ensemble: arrays over nodes, and for every split the categories that go left.

Libraries differ in what a split compares and how. Over category ids these differences disappear: a split of a feature
with d categories is d bits. Evaluation and search look them up and never see a threshold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float64, Int64

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.victims.trees.columns import Column
from hammingbox.victims.trees.splits import Split

IntArray = Int64[np.ndarray, "..."]
FloatArray = Float64[np.ndarray, "..."]
BoolArray = Bool[np.ndarray, "..."]

Link = Literal["scores", "probabilities"]
"""What the sums over the trees are: scores whose softmax are the probabilities, or the probabilities themselves."""


@dataclass(frozen=True, eq=False)
class RawTree:
    """A tree as a library has it. Node 0 is the root.

    Attributes:
        splits: for each node the column that is compared and the rule; None for a leaf.
        left: the left child of each node; anything for a leaf.
        right: its right child.
        values: (nodes, classes) what a leaf adds to each class.
    """

    splits: Sequence[tuple[int, Split] | None]
    left: IntArray
    right: IntArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """A sum of trees over category ids.

    Attributes:
        cardinalities: categories of each feature.
        roots: (trees) the root of each tree.
        feature: (nodes) the feature that a node asks about; 0 for a leaf.
        offset: (nodes) where the bits of its split begin in `table`; a leaf has the offset 0.
        left: (nodes) the left child; a leaf is its own child.
        right: (nodes) the right child.
        values: (nodes, classes) what a leaf adds to each class; 0 for inner nodes.
        table: the bits of all splits: `table[offset + category]` says whether the category goes left.
        base: (classes) what is added to the sum over the trees.
        link: what the sums are.
        depth: the longest path of any tree.
    """

    cardinalities: tuple[int, ...]
    roots: IntArray
    feature: IntArray
    offset: IntArray
    left: IntArray
    right: IntArray
    values: FloatArray
    table: BoolArray
    base: FloatArray
    link: Link
    depth: int

    @staticmethod
    def of(
        schema: Schema, columns: Sequence[Column], trees: Iterable[RawTree], base: Sequence[float], link: Link
    ) -> "TreeEnsemble":
        """Translates the trees of a library into splits over category ids.

        Args:
            schema: what the ids mean.
            columns: what the library's columns hold.
            trees: the trees.
            base: what is added to each class.
            link: what the sums are.

        Raises:
            InputError: the model has other classes or columns than the schema.
        """
        if len(base) != len(schema.classes):
            raise InputError(
                f"expected a model of {len(schema.classes)} classes ({', '.join(schema.classes[:12])}), "
                f"got one of {len(base)}."
            )
        bits = _Bits(columns)
        roots, features, offsets, lefts, rights, values, depth, nodes = [], [], [], [], [], [], 0, 0
        for tree in trees:
            count = len(tree.splits)
            leaf = np.array([split is None for split in tree.splits])
            own = np.arange(nodes, nodes + count)
            places = [bits.place(split) for split in tree.splits]
            roots.append(nodes)
            features.append(np.array([feature for feature, _ in places], dtype=np.int64))
            offsets.append(np.array([offset for _, offset in places], dtype=np.int64))
            lefts.append(np.where(leaf, own, nodes + tree.left))
            rights.append(np.where(leaf, own, nodes + tree.right))
            values.append(np.where(leaf[:, None], tree.values, 0.0))
            depth = max(depth, _depth(lefts[-1] - nodes, rights[-1] - nodes))
            nodes += count
        if not roots:
            raise InputError("expected a model with at least one tree, got none. Fit it first.")
        found = np.concatenate(values)
        if not np.isfinite(found).all() or not np.isfinite(base).all():
            raise InputError("expected finite leaf values, got NaN or infinite ones. The model is damaged.")
        return TreeEnsemble(
            cardinalities=schema.cardinalities,
            roots=np.array(roots, dtype=np.int64),
            feature=np.concatenate(features),
            offset=np.concatenate(offsets),
            left=np.concatenate(lefts),
            right=np.concatenate(rights),
            values=found,
            table=bits.table(),
            base=np.asarray(base, dtype=np.float64),
            link=link,
            depth=depth,
        )

    @property
    def trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.base)

    def sums(self, ids: IntArray, trees: IntArray) -> FloatArray:
        """(rows, classes) the sums over some trees, without the base.

        Args:
            ids: (rows, features) category ids.
            trees: which trees.
        """
        node = np.broadcast_to(self.roots[trees], (len(ids), len(trees)))
        rows = np.arange(len(ids))[:, None]
        for _ in range(self.depth):
            goes_left = self.table[self.offset[node] + ids[rows, self.feature[node]]]
            node = np.where(goes_left, self.left[node], self.right[node])
        return self.values[node].sum(1)

    @cached_property
    def tree_of(self) -> IntArray:
        """(nodes) the tree of each node."""
        return np.searchsorted(self.roots, np.arange(len(self.feature)), side="right") - 1

    @cached_property
    def is_leaf(self) -> BoolArray:
        """(nodes) whether a node is a leaf."""
        return self.left == np.arange(len(self.left))

    @cached_property
    def magnitude(self) -> float:
        """The largest sum of absolute leaf values that any row can reach, over the classes."""
        largest = np.maximum.reduceat(np.abs(self.values), self.roots)
        return float((largest.sum(0) + np.abs(self.base)).max())

    @cached_property
    def rounding(self) -> float:
        """A bound on the rounding error of a difference of two sums in float64; 0 where such sums are exact.

        The leaf values of XGBoost are float32 numbers and those of a forest of pure leaves are integers, so all sums
        are multiples of one small number, and float64 holds them exactly in any order if they stay below 2**53 of it.
        """
        terms = np.concatenate([self.values.ravel(), self.base])
        mantissa, exponent = np.frexp(terms[terms != 0])
        if len(mantissa) == 0:
            return 0.0
        whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
        trailing = np.round(np.log2((whole & -whole).astype(np.float64))).astype(np.int64)
        quantum = int((exponent - 53 + trailing).min())
        # Sums of differences of leaves are up to 32 times as large. Different probabilities must stay different when
        # they are divided by their sum and their logarithms are taken.
        bits = 48 if self.link == "scores" else 40
        if np.log2(self.magnitude) - quantum < bits:
            return 0.0
        return 2.0 ** (6 - 53) * (self.trees + 2) * self.magnitude

    @cached_property
    def library_rounding(self) -> float:
        """A bound, never 0, on what a library may be off by that adds the same leaves in float32, in its own order.

        The sum of n numbers is off by at most (n - 1) 2**-24 times the sum of their magnitudes; a difference of two
        such sums, and the probabilities made of it, by a few times as much. An exact tie counts as within it, because
        libraries decide ties each in its own way.
        """
        return max(self.rounding, 2.0**-22 * (self.trees + 2) * max(1.0, self.magnitude))

    def with_classes(self, order: Sequence[int]) -> "TreeEnsemble":
        """The same trees with the classes in another order: class i is the one that was number order[i]."""
        chosen = list(order)
        return replace(self, values=self.values[:, chosen], base=self.base[chosen])


class _Bits:
    """Collects the bits of splits; equal splits of a feature share them."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._by_split: dict[tuple[int, Split], tuple[int, int]] = {}
        self._by_bits: dict[tuple[int, bytes], int] = {}
        self._parts: list[BoolArray] = []
        self._size = 0

    def place(self, split: tuple[int, Split] | None) -> tuple[int, int]:
        """The feature of a split and the place of its bits; (0, 0) for a leaf."""
        if split is None:
            return 0, 0
        if split in self._by_split:
            return self._by_split[split]
        index, rule = split
        if not 0 <= index < len(self._columns):
            raise InputError(
                f"expected splits on {len(self._columns)} columns, got one on column {index}. "
                "Pass all columns of the model, in its order."
            )
        column = self._columns[index]
        left = rule.goes_left(column.values)
        key = column.feature, left.tobytes()
        if key not in self._by_bits:
            self._by_bits[key] = self._size
            self._parts.append(left)
            self._size += len(left)
        self._by_split[split] = column.feature, self._by_bits[key]
        return self._by_split[split]

    def table(self) -> BoolArray:
        """All bits. One entry more than any feature has categories, so that a leaf may be looked up as well."""
        rest = np.zeros(max(len(column.values) for column in self._columns), dtype=np.bool_)
        return np.concatenate([*self._parts, rest])


def _depth(left: IntArray, right: IntArray) -> int:
    """The longest path from the root.

    Raises:
        InputError: the children do not form a tree.
    """
    if min(left.min(), right.min()) < 0 or max(left.max(), right.max()) >= len(left):
        raise InputError("expected trees, got a node whose child does not exist. The model is damaged.")
    level, depth, seen = np.zeros(1, dtype=np.int64), 0, 1
    while True:
        inner = level[left[level] != level]
        if len(inner) == 0:
            return depth
        level = np.concatenate([left[inner], right[inner]])
        depth, seen = depth + 1, seen + len(level)
        if seen > len(left):
            raise InputError("expected trees, got a node with two parents. The model is damaged.")
