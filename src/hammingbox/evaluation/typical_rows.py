"""How typical a row is of some others: its likelihood under a tree of dependencies between columns (Chow and Liu 1968).

An isolation forest cannot tell a value outside the range it has seen from the largest inside. A likelihood can.
"""

import numpy as np
from jaxtyping import Float64, Int64

from hammingbox.data.schema import Feature, Schema

Codes = Int64[np.ndarray, "rows columns"]

_MOST_CODES = 32
"""Values of a column that are told apart: ranges of a number, or its most frequent categories and one for the rest."""
_MOST_ROWS = 50_000
"""Rows that the dependencies are learned from."""
_PRIOR = 0.5
"""Added to every count (Krichevsky and Trofimov 1981), so that what was never seen is unlikely and not impossible."""


_FOLDS = 5


class TypicalRows:
    """A distribution over rows, learned from some: every column depends on one other, the best tree of such pairs.

    The rows it was learned from would look more typical than others from the same source, the more so the fewer they
    are. So each of them is rated by a tree that was learned without it (in five parts): of new rows of the same source
    about one in twenty has an anomaly of 0.95, and not one in four.

    Args:
        schema: what the ids mean.
        ids: the rows that are typical, at least one.
    """

    def __init__(self, schema: Schema, ids: Codes) -> None:
        ids = ids[:: max(1, len(ids) // _MOST_ROWS)]
        self._codes = [_code_of(feature, ids[:, column]) for column, feature in enumerate(schema.features)]
        sizes = [int(code.max()) + 2 for code in self._codes]  # one more, for what does not occur
        coded = self._coded(ids)
        self._tree = _Tree(coded, sizes)
        # A stride and no blocks: tables are often sorted.
        folds = np.arange(len(coded)) % min(_FOLDS, len(coded))
        own = [
            _Tree(coded[folds != fold], sizes).log_likelihood(coded[folds == fold])
            for fold in range(folds.max() + 1)
            if (folds != fold).any()
        ]
        self._own = np.sort(np.concatenate(own)) if own else self._tree.log_likelihood(coded)

    def log_likelihood(self, ids: Codes) -> Float64[np.ndarray, "rows"]:
        """The logarithm of each row's probability."""
        return self._tree.log_likelihood(self._coded(ids))

    def more_typical(self, ids: Codes) -> Float64[np.ndarray, "rows"]:
        """The share of the learned rows that are more typical than each row: 0 is the most typical, 1 unlike all."""
        return 1.0 - np.searchsorted(self._own, self.log_likelihood(ids), side="right") / len(self._own)

    def _coded(self, ids: Codes) -> Codes:
        return np.stack([code[ids[:, column]] for column, code in enumerate(self._codes)], 1)


class _Tree:
    """The tree of dependencies of coded rows, with its probabilities."""

    def __init__(self, coded: Codes, sizes: list[int]) -> None:
        self._parents = _tree(coded, sizes)
        self._tables = [_conditional(coded, column, parent, sizes) for column, parent in enumerate(self._parents)]

    def log_likelihood(self, coded: Codes) -> Float64[np.ndarray, "rows"]:
        score = np.zeros(len(coded))
        for column, (parent, table) in enumerate(zip(self._parents, self._tables, strict=True)):
            score += table[coded[:, parent] if parent >= 0 else 0, coded[:, column]]
        return score


def _code_of(feature: Feature, seen: Int64[np.ndarray, "rows"]) -> Int64[np.ndarray, "categories"]:
    """A code for every value of a column; those beyond the largest code of values that occur are for the others."""
    counts = np.bincount(seen, minlength=len(feature.categories))
    occurs = counts > 0
    if feature.is_ordered and occurs.sum() > _MOST_CODES:
        numbers = feature.numbers
        known = np.sort(numbers[seen][~np.isnan(numbers[seen])])
        if len(known):
            # Ranges with the same number of rows each; below the least and above the largest value is another code.
            edges = np.unique(np.quantile(known, np.linspace(0, 1, _MOST_CODES - 1)[1:-1]))
            code = np.searchsorted(edges, np.nan_to_num(numbers), side="right")
            outside = np.isnan(numbers) | (numbers < known[0]) | (numbers > known[-1])
            return np.where(outside & ~occurs, len(edges) + 2, np.where(np.isnan(numbers), len(edges) + 1, code))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(counts), dtype=np.int64)
    rank[order] = np.arange(len(counts))
    last = min(int(occurs.sum()), _MOST_CODES) - 1
    return np.where(occurs, np.minimum(rank, last), last + 1)


def _tree(coded: Codes, sizes: list[int]) -> list[int]:
    """The parent of each column in the tree with the most mutual information; -1 for the root (Prim's algorithm)."""
    columns = coded.shape[1]
    parents, linked = [-1] * columns, [0]
    best = np.array([_information(coded, 0, column, sizes) if column else -np.inf for column in range(columns)])
    nearest = np.zeros(columns, dtype=np.int64)
    for _ in range(columns - 1):
        column = int(best.argmax())
        parents[column] = int(nearest[column])
        linked.append(column)
        best[column] = -np.inf
        for other in set(range(columns)) - set(linked):
            shared = _information(coded, column, other, sizes)
            if shared > best[other]:
                best[other], nearest[other] = shared, column
    return parents


def _joint(coded: Codes, one: int, two: int, sizes: list[int]) -> Float64[np.ndarray, "one two"]:
    """How often the values of two columns occur together."""
    pairs = np.bincount(coded[:, one] * sizes[two] + coded[:, two], minlength=sizes[one] * sizes[two])
    return pairs.reshape(sizes[one], sizes[two]).astype(np.float64)


def _information(coded: Codes, one: int, two: int, sizes: list[int]) -> float:
    joint = _joint(coded, one, two, sizes) / len(coded)
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / apart[there])).sum())


def _conditional(coded: Codes, column: int, parent: int, sizes: list[int]) -> Float64[np.ndarray, "parents values"]:
    """Log-probabilities of a column's values for each value of its parent; one line for the root."""
    if parent < 0:
        counts = np.bincount(coded[:, column], minlength=sizes[column]).astype(np.float64)[None]
    else:
        counts = _joint(coded, parent, column, sizes)
    counts += _PRIOR
    return np.log(counts / counts.sum(1, keepdims=True))
