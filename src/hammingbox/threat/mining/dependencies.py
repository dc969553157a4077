"""Columns that decide others."""

import numpy as np

from hammingbox.threat.mining.sample import IdColumn, Sample

_MOST_DECIDED = 10_000
"""Categories of a decided column; a column of more is a number or a name."""
_FEWEST_REPEATS = 0.2
"""The share of sampled rows whose deciding value occurs more than once: an identifier decides everything."""
_LEAST_SURPRISE = 0.5
"""How much of the error of always guessing the most frequent value must disappear."""


def dependencies(sample: Sample) -> list[tuple[int, int]]:
    """Pairs (a, b) such that a seems to decide b.

    A value that occurs once tells nothing, so only rows are counted whose value of a occurs again. What a decides must
    not be what b is anyway.
    """
    found = []
    sizes = sample.schema.cardinalities
    distinct = [np.unique(sample.ids[:, column], return_inverse=True) for column in range(len(sizes))]
    for a, (_, code_a) in enumerate(distinct):
        counts = np.bincount(code_a)
        repeated = counts[code_a] > 1
        if len(counts) < 2 or repeated.mean() < _FEWEST_REPEATS:
            continue
        for b, (values, code_b) in enumerate(distinct):
            if b == a or len(values) < 2 or sizes[b] > _MOST_DECIDED:
                continue
            if _decides(code_a[repeated], code_b[repeated], len(values), sample.loose):
                found.append((a, b))
    return _without_detours(found, [len(values) for values, _ in distinct])


def _decides(a: IdColumn, b: IdColumn, values_of_b: int, least: float) -> bool:
    """Whether the most frequent b of each a is right often enough, and much more often than one b for all."""
    pairs, counts = np.unique(a * values_of_b + b, return_counts=True)
    best = np.zeros(int(a.max()) + 1, dtype=np.int64)
    np.maximum.at(best, pairs // values_of_b, counts)
    # One row of each a is right by construction.
    keys = len(np.unique(a))
    right = (best.sum() - keys) / max(len(a) - keys, 1)
    usual = np.bincount(b).max() / len(b)
    return bool(right >= least and 1 - right <= (1 - usual) * (1 - _LEAST_SURPRISE))


def _without_detours(found: list[tuple[int, int]], values: list[int]) -> list[tuple[int, int]]:
    """Leaves out what follows: a decides c if a decides b and b decides c; of two that decide each other, one.

    Args:
        found: the dependencies.
        values: number of distinct values of each column.
    """
    pairs = set(found)
    # Of columns that decide each other, the first stands for all; the others follow it.
    leader: dict[int, int] = {}
    for a, b in sorted(pairs):
        if (b, a) in pairs and a < b:
            leader.setdefault(b, leader.get(a, a))
    kept = []
    for a, b in sorted(pairs):
        if a in leader or (b in leader and leader[b] != a):
            continue
        detours = [c for c in range(len(values)) if c not in leader and (a, c) in pairs and (c, b) in pairs]
        if not detours or leader.get(b) == a:
            kept.append((a, b))
    return kept
