"""Lists of different lengths, one per row, as flat arrays: how the report holds changes and probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, Shaped

PARTS = 1000
"""Probabilities are held in thousandths: the page shows tenths of a per cent."""

SHOWN_CLASSES = 5
"""A row keeps at most this many of its likeliest classes, and its true class; the page gives a bound for the others."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """Pairs (key, value), `counts[i]` of them for row i, stored row after row.

    For example, counts [2, 0, 1] with keys [4, 7, 1] and values [9, 8, 5] are the lists [(4, 9), (7, 8)], [] and
    [(1, 5)].
    """

    counts: Int64[np.ndarray, "rows"]
    keys: Int64[np.ndarray, "pairs"]
    values: Int64[np.ndarray, "pairs"]

    def __len__(self) -> int:
        return len(self.counts)

    def take(self, rows: Shaped[np.ndarray, "rows"]) -> "Ragged":
        """Some rows, given by their numbers in any order or by a mask."""
        chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        counts = self.counts[chosen]
        starts = (np.cumsum(self.counts) - self.counts)[chosen]
        # Pair k of the result is the pair `k - (pairs before its row)` of its row.
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) - np.repeat(before, counts) + np.repeat(starts, counts)
        return Ragged(counts, self.keys[places], self.values[places])

    @staticmethod
    def join(parts: "Sequence[Ragged]") -> "Ragged":
        """All rows of the first part, then all of the second, and so on."""
        names = ("counts", "keys", "values")
        return Ragged(
            *(np.concatenate([np.empty(0, np.int64), *(getattr(part, name) for part in parts)]) for name in names)
        )

    def owner(self) -> Int64[np.ndarray, "pairs"]:
        """The row of each pair."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def changes(clean: Int64[np.ndarray, "rows features"], written: Int64[np.ndarray, "rows features"]) -> Ragged:
    """The features that differ, and what was written there."""
    rows, features = np.nonzero(clean != written)
    return Ragged(np.bincount(rows, minlength=len(clean)), features, written[rows, features])


def likeliest(logits: Float64[np.ndarray, "rows classes"], own: Int64[np.ndarray, "rows"]) -> Ragged:
    """Classes with their probabilities in thousandths, likeliest first; classes that round to 0 are left out.

    The true class `own` is always kept: readers look for how much its probability dropped.
    """
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    parts = np.rint(PARTS * shifted / shifted.sum(1, keepdims=True)).astype(np.int64)
    order = np.argsort(-parts, axis=1, kind="stable")
    ranked = np.take_along_axis(parts, order, 1)
    mine = order == own[:, None]
    keep = mine | ((ranked > 0) & (np.arange(ranked.shape[1]) < SHOWN_CLASSES))
    return Ragged(keep.sum(1), order[keep], ranked[keep])
