"""The exact effect of changes on a sum of trees, as a sum over sets of changed features.

A tree adds, for each leaf, its value times the product over its path of "the row is in the leaf's set". Changing some
features multiplies in a difference u = (after in the set) - (before in the set), one of -1, 0 and 1, for each of them.
So the gain of several changes together is the sum, over all subsets T of them, of an interaction

    I(T) = sum over leaves with all misses in T of  value * product over T of u,

where the misses of a leaf are the features of the clean row outside of its box. I(T) is zero unless one path asks about
all of T. Single changes, pairs and triples therefore give the exact gain of any three changes, without another pass:

    gain(a, b) = I(a) + I(b) + I(a, b).

Leaves with more misses than changes are left never matter, which is what makes this fast.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from hammingbox.certificates._trees.leaf_boxes import LeafBoxes
from hammingbox.errors import TooExpensiveError
from hammingbox.victims.trees.ensemble import BoolArray, FloatArray, IntArray

MOST_TERMS = 20_000_000
"""Terms of an interaction that are held at once: some 500 MB."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Single changes that an attacker may make, sorted by feature.

    Attributes:
        feature: (moves) the feature that is changed.
        category: (moves) what is written.
        slot: (moves) the slot that writes it.
    """

    feature: IntArray
    category: IntArray
    slot: IntArray

    def __len__(self) -> int:
        return len(self.feature)

    def take(self, chosen: BoolArray | IntArray) -> "Moves":
        """Some of them, in increasing order."""
        return Moves(self.feature[chosen], self.category[chosen], self.slot[chosen])


class Expansion:
    """The interactions around one row.

    Args:
        boxes: the leaves.
        weights: (leaves, rivals) what each leaf adds to each difference of two classes.
        ids: the row.
        moves: what may be changed.
        changes: how many changes may be made together.
    """

    def __init__(self, boxes: LeafBoxes, weights: FloatArray, ids: IntArray, moves: Moves, changes: int) -> None:
        self.moves, self.rivals = moves, weights.shape[1]
        inside = boxes.member[boxes.set_offset + ids[boxes.set_feature]]
        hit = inside[boxes.sets]
        misses = hit.shape[1] - hit.sum(1)
        near = np.flatnonzero(misses <= changes)
        # A miss that no move repairs keeps a leaf out of reach.
        repaired = self._repairable(boxes) | inside
        near = near[repaired[boxes.sets[near]].all(1)]
        self._hit, self.misses = hit[near], misses[near]
        self._features, self._sets = boxes.features[near], boxes.sets[near]
        self.weights, self.tree, self._boxes = weights[near], boxes.tree[near], boxes
        self._trees, self._changes = int(boxes.tree[-1]) + 1, changes

    def _repairable(self, boxes: LeafBoxes) -> BoolArray:
        """(sets) whether a move leads into a set."""
        order, starts = boxes.by_feature
        begin = starts[self.moves.feature]
        owner, place = ragged(begin, starts[self.moves.feature + 1] - begin)
        into = boxes.member[boxes.set_offset[order[place]] + self.moves.category[owner]]
        found = np.zeros(len(boxes.set_offset), dtype=np.bool_)
        found[order[place[into]]] = True
        return found

    @cached_property
    def _entries(self) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
        """Every (leaf, place on its path, move) with a difference u other than 0.

        Returns their moves, leaves and differences, and where the entries of each (leaf, place) begin and how many
        there are.
        """
        features = np.append(self.moves.feature, np.iinfo(np.int64).max)
        width = self._features.shape[1]
        # A leaf whose misses use up all changes has none left for the places where it is hit.
        useful = ~self._hit | (self.misses < self._changes)[:, None]
        flat = self._features.ravel()
        begin = np.searchsorted(features, flat)
        count = np.where(useful.ravel(), np.searchsorted(features, flat, side="right") - begin, 0)
        owner, move = ragged(begin, count)
        after = self._boxes.member[self._boxes.set_offset[self._sets.ravel()[owner]] + self.moves.category[move]]
        before = self._hit.ravel()[owner]
        differs = after != before
        owner, move = owner[differs], move[differs]
        difference = np.where(before[differs], -1.0, 1.0)
        counts = np.bincount(owner, minlength=len(flat)).reshape(-1, width)
        starts = (np.cumsum(counts) - counts.ravel()).reshape(-1, width)
        return move, owner // width, difference, starts, counts

    @cached_property
    def singles(self) -> FloatArray:
        """(moves, rivals) the exact gain of each move alone."""
        move, leaf, difference, _, _ = self._entries
        # A hit leaf loses what it adds; a leaf with one miss wins where that miss is repaired.
        alone = self.misses[leaf] == (difference > 0)
        move, leaf, difference = move[alone], leaf[alone], difference[alone]
        return np.stack(
            [
                np.bincount(move, self.weights[leaf, rival] * difference, minlength=len(self.moves))
                for rival in range(self.rivals)
            ],
            axis=1,
        )

    def shares(self, rival: int) -> FloatArray:
        """(moves) numbers whose sum over any allowed set of moves bounds the gain of making them together.

        Each leaf that is better than the one a tree is in shares its advantage equally over the features that must
        change to get there. A move counts, in each tree, the largest share among the leaves that it leads towards.
        """
        move, leaf, difference, _, _ = self._entries
        clean = np.zeros(self._trees)
        at = self.misses == 0
        clean[self.tree[at]] = self.weights[at, rival]
        advantage = (self.weights[:, rival] - clean[self.tree]) / np.maximum(self.misses, 1)
        towards = (difference > 0) & (advantage[leaf] > 0)
        move, leaf = move[towards], leaf[towards]
        largest = np.zeros(self._trees * len(self.moves))
        np.maximum.at(largest, self.tree[leaf] * len(self.moves) + move, advantage[leaf])
        return largest.reshape(self._trees, -1).sum(0)

    def interactions(self, order: int, kept: IntArray, rivals: IntArray) -> tuple[IntArray, FloatArray]:
        """The interactions of several moves.

        Args:
            order: how many moves each: 2 or 3.
            kept: the moves that take part, in increasing order.
            rivals: the rivals that are asked about.

        Returns:
            (terms, order) places of moves in `kept`, increasing in each row, and (terms, rivals) what each term adds.
            Terms of equal moves are to be added up.

        Raises:
            TooExpensiveError: there are more than `MOST_TERMS`.
        """
        move, _, difference, starts, counts = self._kept_entries(kept)
        missed = ~self._hit
        # Paths that are shorter than the order have no places to choose: there are no terms then.
        leaf_parts = [np.empty(0, dtype=np.int64)]
        place_parts = [np.empty((0, order), dtype=np.int64)]
        for places in combinations(range(self._hit.shape[1]), order):
            covered = sum(missed[:, place].astype(np.int64) for place in places)
            able = np.logical_and.reduce([counts[:, place] > 0 for place in places])
            leaves = np.flatnonzero(able & (covered == self.misses))
            leaf_parts.append(leaves)
            place_parts.append(np.broadcast_to(np.array(places), (len(leaves), order)))
        leaf, place = np.concatenate(leaf_parts), np.concatenate(place_parts)
        size = counts[leaf[:, None], place]
        total = size.prod(1)
        if total.sum() > MOST_TERMS:
            raise TooExpensiveError(f"expected at most {MOST_TERMS:,} terms, got {int(total.sum()):,}.")
        owner, within = ragged(np.zeros_like(total), total)
        chosen, product = np.empty((len(owner), order), dtype=np.int64), np.ones(len(owner))
        for i in reversed(range(order)):
            entry = starts[leaf[owner], place[owner, i]] + within % size[owner, i]
            within //= size[owner, i]
            chosen[:, i] = move[entry]
            product *= difference[entry]
        return chosen, product[:, None] * self.weights[leaf[owner]][:, rivals]

    def _kept_entries(self, kept: IntArray) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
        """The entries of some moves, which are renumbered."""
        move, leaf, difference, starts, counts = self._entries
        if len(kept) == len(self.moves):
            return move, leaf, difference, starts, counts
        number = np.full(len(self.moves), -1)
        number[kept] = np.arange(len(kept))
        stays = number[move] >= 0
        before = np.concatenate([[0], np.cumsum(stays)])
        ends = before[starts + counts]
        starts = before[starts]
        return number[move[stays]], leaf[stays], difference[stays], starts, ends - starts


def ragged(begin: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Runs of numbers: begin = (5, 9), count = (2, 1) gives owners (0, 0, 1) and numbers (5, 6, 9)."""
    owner = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    return owner, begin[owner] + np.arange(len(owner)) - first[owner]
