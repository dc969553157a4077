"""The smallest number of changes that breaks one row, by branch and bound over exact expansions.

For one rival class at a time, and for 1, 2, 3, ... changes:

1. The shares of `Expansion` bound every set of moves: the sum of the largest ones, at most one per feature. If even
   that does not reach the goal, the rival is excluded. Otherwise only moves stay that can be part of a set which
   reaches it.
2. One, two or three changes are decided exactly by adding up interactions over all sets of moves that stayed.
3. More changes, or too many moves for step 2: make the move with the largest share, search the rest with one change
   less; then without that move, and so on. Every set of moves is met once.

A rival of a goal with several losing classes must beat each of them: a set counts by its smallest lead, and is excluded
as soon as one lead is.
"""

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from hammingbox.certificates._trees.expansion import Expansion, Moves
from hammingbox.certificates._trees.leaf_boxes import LeafBoxes
from hammingbox.errors import TooExpensiveError
from hammingbox.victims.trees.ensemble import BoolArray, FloatArray, IntArray

_DENSE_PAIRS, _DENSE_TRIPLES = 2000, 128
"""Moves of which all pairs, or all triples, are held in one array of 32 or 16 MB."""


class LimitError(Exception):
    """The search of a row has used up its nodes or its time."""


@dataclass
class Effort:
    """What one row may use.

    Attributes:
        nodes: expansions, at most.
        deadline: on the clock of `perf_counter`.
    """

    nodes: int
    deadline: float
    used: int = field(default=0)

    def spend(self) -> None:
        """Counts an expansion.

        Raises:
            LimitError: there is none left.
        """
        self.used += 1
        if self.used > self.nodes or perf_counter() > self.deadline:
            raise LimitError


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is known about a row.

    Attributes:
        radius: no set of so many moves reaches the goal.
        witness: (moves) places of moves that reach it together, or nearly so (within the tolerance); None without.
        bound: the largest lead that any set of moves within the budget can have; infinity if the search was cut short.
    """

    radius: int
    witness: IntArray | None
    bound: float


def search_row(
    boxes: LeafBoxes,
    pairs: list[FloatArray],
    leads: list[FloatArray],
    ids: IntArray,
    moves: Moves,
    budget: int,
    *,
    tolerance: float,
    effort: Effort,
) -> Outcome:
    """Decides one row.

    Args:
        boxes: the leaves.
        pairs: for each rival class, (leaves, losers) what each leaf adds to its leads over the losing classes.
        leads: for each rival class, (losers) its leads over the losing classes in the clean row; one is at most 0.
        ids: the clean row.
        moves: the changes that S(x) allows, sorted by feature.
        budget: the largest number of changes.
        tolerance: leads up to this far below 0 count as reached. With 0, a lead of 0 does not.
        effort: what may be used.
    """
    nodes = [_Node(boxes, pair, lead, ids, moves, tolerance) for pair, lead in zip(pairs, leads, strict=True)]
    bounds = [-np.inf] * len(nodes)
    radius = 0
    try:
        for changes in range(1, min(budget, len(np.unique(moves.feature))) + 1):
            for place, node in enumerate(nodes):
                found, bounds[place] = node.search(changes, effort)
                if found is not None:
                    return Outcome(radius, found, np.inf)
            radius = changes
    except (LimitError, TooExpensiveError):
        return Outcome(radius, None, np.inf)
    # Where there are fewer features than changes, all sets were tried.
    return Outcome(budget, None, max(max(bounds), *(float(lead.min()) for lead in leads)))


class _Node:
    """A row with some changes made, one rival, and the moves that may follow."""

    def __init__(
        self, boxes: LeafBoxes, weights: FloatArray, lead: FloatArray, ids: IntArray, moves: Moves, tolerance: float
    ) -> None:
        self.boxes, self.weights, self.lead, self.ids, self.moves = boxes, weights, lead, ids, moves
        self.tolerance = tolerance

    def search(self, changes: int, effort: Effort) -> tuple[IntArray | None, float]:
        """At most `changes` moves that reach the goal, and a bound on the lead of all sets of so many moves."""
        if len(self.moves) == 0:
            return None, -np.inf
        effort.spend()
        expansion = Expansion(self.boxes, self.weights, self.ids, self.moves, changes)
        value = (self.lead + expansion.singles).min(1)
        best = int(value.argmax())
        if changes == 1 or self.reaches(value[best]):
            return (np.array([best]) if self.reaches(value[best]) else None), float(value[best])
        shares = np.stack([expansion.shares(loser) for loser in range(len(self.lead))], axis=1)
        limit = self._limits(shares, changes)
        kept = np.flatnonzero(limit > self._threshold)
        dropped = float(limit[limit <= self._threshold].max(initial=-np.inf))
        if len(kept) == 0:
            return None, max(dropped, float(value[best]))
        if changes == 2 and len(kept) <= _DENSE_PAIRS:
            found, bound = self._pairs(expansion, kept)
        elif changes == 3 and len(kept) <= _DENSE_TRIPLES:
            found, bound = self._triples(expansion, kept)
        else:
            found, bound = self._branch(expansion, shares, kept, changes, effort)
        return found, max(bound, dropped, float(value[best]))

    def reaches(self, lead: float) -> bool:
        """Whether a lead counts as reached."""
        return bool(lead > self._threshold)

    @property
    def _threshold(self) -> float:
        return -self.tolerance

    def _limits(self, shares: FloatArray, changes: int) -> FloatArray:
        """(moves) the largest lead that a set which contains the move can have, by the shares."""
        first = np.flatnonzero(np.diff(self.moves.feature, prepend=-1))
        of_feature = np.maximum.reduceat(shares, first)  # (features, losers)
        rank = np.cumsum(np.diff(self.moves.feature, prepend=-1) > 0) - 1
        ordered = -np.sort(-of_feature, axis=0)
        top = ordered[:changes].sum(0)
        # The other features of a set: the best ones, but not the move's own.
        last = ordered[changes - 1] if len(ordered) >= changes else np.zeros(shares.shape[1])
        own = of_feature[rank]
        others = np.where(own > last, top - own, top - last)
        return (self.lead + shares + others).min(1)

    def _pairs(self, expansion: Expansion, kept: IntArray) -> tuple[IntArray | None, float]:
        """All pairs of moves, exactly."""
        gains = self._pair_gains(expansion, kept)
        lead = (self.lead[:, None, None] + gains).min(0)
        feature = self.moves.feature[kept]
        lead[feature[:, None] >= feature] = -np.inf
        best = int(lead.argmax())
        value = float(lead.flat[best])
        return (kept[list(divmod(best, len(kept)))] if self.reaches(value) else None), value

    def _pair_gains(self, expansion: Expansion, kept: IntArray) -> FloatArray:
        """(losers, moves, moves) the gain of two moves, in its upper triangle."""
        count = len(kept)
        chosen, terms = expansion.interactions(2, kept, np.arange(len(self.lead)))
        place = chosen[:, 0] * count + chosen[:, 1]
        singles = expansion.singles[kept].T
        joint = np.stack([np.bincount(place, column, minlength=count * count) for column in terms.T])
        return joint.reshape(-1, count, count) + singles[:, :, None] + singles[:, None, :]

    def _triples(self, expansion: Expansion, kept: IntArray) -> tuple[IntArray | None, float]:
        """All triples of moves, exactly: pairs count each single move twice."""
        count = len(kept)
        pairs, single = self._pair_gains(expansion, kept), expansion.singles[kept].T
        chosen, terms = expansion.interactions(3, kept, np.arange(len(self.lead)))
        place = (chosen[:, 0] * count + chosen[:, 1]) * count + chosen[:, 2]
        lead: FloatArray | None = None
        for loser, start in enumerate(self.lead):
            pair = pairs[loser]
            gain = (pair - single[loser])[:, :, None] + (pair - single[loser][:, None])[:, None, :]
            gain += (pair - single[loser])[None, :, :] + start
            gain += np.bincount(place, terms[:, loser], minlength=count**3).reshape(gain.shape)
            lead = gain if lead is None else np.minimum(lead, gain)
        assert lead is not None
        feature = self.moves.feature[kept]
        ordered = feature[:, None] < feature
        lead[~(ordered[:, :, None] & ordered[None, :, :])] = -np.inf
        best = int(lead.argmax())
        value = float(lead.flat[best])
        return (kept[list(np.unravel_index(best, lead.shape))] if self.reaches(value) else None), value

    def _branch(
        self, expansion: Expansion, shares: FloatArray, kept: IntArray, changes: int, effort: Effort
    ) -> tuple[IntArray | None, float]:
        """The move with the largest shares first; each set of moves is searched under its first move only."""
        order = kept[np.argsort(-shares[kept].sum(1), kind="stable")]
        bound = -np.inf
        remaining = np.zeros(len(self.moves), dtype=np.bool_)
        remaining[kept] = True
        for move in order:
            here = self._limits(np.where(remaining[:, None], shares, 0.0), changes)[move]
            remaining[move] = False
            if not self.reaches(here):
                bound = max(bound, float(here))
                continue
            child, places = self._after(int(move), remaining, expansion.singles[move])
            found, below = child.search(changes - 1, effort)
            if found is not None:
                return np.sort(np.append(places[found], move)), below
            bound = max(bound, below)
        return None, bound

    def _after(self, move: int, remaining: BoolArray, gain: FloatArray) -> "tuple[_Node, IntArray]":
        """The row after a move, with the moves that may follow, and the places of these."""
        ids = self.ids.copy()
        ids[self.moves.feature[move]] = self.moves.category[move]
        places = np.flatnonzero(remaining & (self.moves.feature != self.moves.feature[move]))
        child = _Node(self.boxes, self.weights, self.lead + gain, ids, self.moves.take(places), self.tolerance)
        return child, places
