"""Columns that decide others."""

from itertools import combinations

import numpy as np

from hammingbox.threat.mining.sample import IdColumn, Sample

_MOST_DECIDED = 10_000
"""Categories of a decided column; a column of more is a number or a name."""
_FEWEST_REPEATS = 0.2
"""The share of sampled rows whose deciding value occurs more than once: an identifier decides everything."""
_ROWS_PER_PAIR = 10
"""Sampled rows for each pair of values that two columns have."""
_MOST_ALONE = 0.9
"""How often one column alone may be right where two are said to decide."""
_LEAST_SURPRISE = 0.5
"""How much of the error of always guessing the most frequent value must disappear."""


def dependencies(sample: Sample) -> list[tuple[int, int]]:
    """Pairs (a, b) such that a seems to decide b.

    A value that occurs once tells nothing, so only rows are counted whose value of a occurs again. What a decides must
    not be what b is anyway.
    """
    distinct = [len(np.unique(sample.ids[:, column])) for column in range(sample.ids.shape[1])]
    return _without_detours(sorted(_single(sample)), distinct)


def _single(sample: Sample) -> set[tuple[int, int]]:
    """All pairs (a, b) such that a seems to decide b."""
    found = set()
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
                found.add((a, b))
    return found


def joint_dependencies(sample: Sample) -> list[tuple[int, int, int]]:
    """Triples (a, b, c) such that a and b together seem to decide c, and neither nearly does alone.

    Only pairs that repeat often are tried: of a pair that each row has for itself, anything would seem to follow. Of
    three columns any two of which decide the third, the two with the fewest values are named.
    """
    sizes = sample.schema.cardinalities
    codes = [np.unique(sample.ids[:, column], return_inverse=True)[1] for column in range(len(sizes))]
    counts = [int(code.max()) + 1 for code in codes]
    decided = [c for c in range(len(sizes)) if counts[c] > 1 and sizes[c] <= _MOST_DECIDED]
    keys = [c for c in range(len(sizes)) if counts[c] > 1 and counts[c] * _ROWS_PER_PAIR <= len(sample)]
    alone = {(a, c): _share_right(codes[a], codes[c], counts[c]) for a in keys for c in decided if a != c}
    found: dict[frozenset[int], tuple[int, int, int]] = {}
    for a, b in sorted(combinations(keys, 2), key=lambda pair: counts[pair[0]] * counts[pair[1]]):
        pairs, code = np.unique(codes[a] * counts[b] + codes[b], return_inverse=True)
        if len(pairs) * _ROWS_PER_PAIR > len(sample) or len(pairs) <= max(counts[a], counts[b]):
            continue
        for c in decided:
            three = frozenset((a, b, c))
            if len(three) < 3 or three in found or max(alone[a, c], alone[b, c]) > _MOST_ALONE:
                continue
            if _decides(code, codes[c], counts[c], sample.loose):
                found[three] = (a, b, c)
    return sorted(found.values())


def _decides(a: IdColumn, b: IdColumn, values_of_b: int, least: float) -> bool:
    """Whether the most frequent b of each a is right often enough, and much more often than one b for all."""
    right = _share_right(a, b, values_of_b)
    usual = np.bincount(b).max() / len(b)
    return bool(right >= least and 1 - right <= (1 - usual) * (1 - _LEAST_SURPRISE))


def _share_right(a: IdColumn, b: IdColumn, values_of_b: int) -> float:
    """How often the most frequent b of each a is right, without one row of each a, which is right by construction."""
    pairs, counts = np.unique(a * values_of_b + b, return_counts=True)
    best = np.zeros(int(a.max()) + 1, dtype=np.int64)
    np.maximum.at(best, pairs // values_of_b, counts)
    keys = int((best > 0).sum())
    return float((best.sum() - keys) / max(len(a) - keys, 1))


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
