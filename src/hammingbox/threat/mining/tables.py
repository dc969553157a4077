"""Combinations that never occur though they should, and one-hot groups."""

from itertools import combinations

import numpy as np
from jaxtyping import Int64

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature
from hammingbox.data.values import MISSING, UNKNOWN
from hammingbox.threat.mining.sample import Sample

_MOST_CATEGORIES = 60
_FEWEST_EXPECTED = 20
"""Rows that a combination must have by chance before its absence means something."""
_LEAST_MASS = 0.01
"""The share of rows that absent combinations must have by chance."""
_OFF = ("0", "false", "no")
_ON = ("1", "true", "yes")


def absent_combinations(data: Dataset) -> list[tuple[int, int, int, int]]:
    """Pairs with combinations that no row has, though chance would give them many: (a, b, seen, possible)."""
    sizes = data.schema.cardinalities
    small = [c for c, f in enumerate(data.schema.features) if 2 <= sizes[c] <= _MOST_CATEGORIES and not f.is_ordered]
    ids = {c: data.ids[:, c].numpy().astype(np.int64) for c in small}
    found = []
    for a, b in combinations(small, 2):
        counts = _crosstab(ids[a], ids[b], sizes[a], sizes[b])
        expected = np.outer(counts.sum(1), counts.sum(0)) / max(len(data), 1)
        absent = (counts == 0) & (expected >= _FEWEST_EXPECTED)
        if expected[absent].sum() >= _LEAST_MASS * len(data):
            possible = int((counts.sum(1) > 0).sum() * (counts.sum(0) > 0).sum())
            found.append((a, b, int((counts > 0).sum()), possible))
    return found


def one_hot_groups(sample: Sample) -> list[tuple[int, ...]]:
    """Groups of columns of which exactly one is on.

    Groups that share the beginning of their names are tried first, then columns that are never on together.
    """
    on = {c: place for c, f in enumerate(sample.schema.features) if (place := _on(f)) is not None}
    is_on = {c: sample.ids[:, c] == place for c, place in on.items()}
    is_on = {c: mask for c, mask in is_on.items() if mask.any() and not mask.all()}
    by_prefix: dict[str, list[int]] = {}
    for column in is_on:
        name = sample.schema.features[column].name
        for mark in "_.- ":
            if mark in name:
                by_prefix.setdefault(name.rsplit(mark, 1)[0] + mark, []).append(column)
    groups: list[tuple[int, ...]] = []
    free = set(is_on)
    for members in sorted(by_prefix.values(), key=len, reverse=True):
        if len(members) > 1 and free.issuperset(members) and _one_each(is_on, members) >= sample.loose:
            groups.append(tuple(members))
            free -= set(members)
    for start in sorted(free):
        if start not in free:
            continue
        members, covered = [start], is_on[start].copy()
        for other in sorted(free - {start}):
            if not (covered & is_on[other]).any():
                members.append(other)
                covered |= is_on[other]
        if len(members) > 1 and _one_each(is_on, members) >= sample.loose:
            groups.append(tuple(members))
            free -= set(members)
    return sorted(groups)


def _one_each(is_on: dict[int, np.ndarray], members: list[int]) -> float:
    return float((np.sum([is_on[c] for c in members], axis=0) == 1).mean())


def _on(feature: Feature) -> int | None:
    """The id that means on, in a column of two values that mean off and on."""
    words = [text.lower() for text in feature.categories if text not in (MISSING, UNKNOWN)]
    if len(words) != 2 or not set(words) & set(_OFF) or not set(words) & set(_ON):
        return None
    return next(i for i, text in enumerate(feature.categories) if text.lower() in _ON)


def _crosstab(
    a: Int64[np.ndarray, "rows"], b: Int64[np.ndarray, "rows"], size_a: int, size_b: int
) -> Int64[np.ndarray, "a b"]:
    return np.bincount(a * size_b + b, minlength=size_a * size_b).reshape(size_a, size_b)
