"""Formulas between columns of numbers and dates: orders, sums, products, parts of dates."""

from itertools import combinations
from math import isfinite

import numpy as np
import torch
from jaxtyping import Bool

from hammingbox.threat.mining.sample import NumberColumn, Sample, shuffled
from hammingbox.threat.rules.calendar import CALENDAR
from hammingbox.threat.rules.readings import TOLERANCE

_FIRST_LOOK = 64
"""Rows on which all triples of columns are tried."""
_FEWEST_KNOWN = 0.2
"""The share of sampled rows in which all numbers of a formula must be known."""
_MOST_BY_CHANCE = 0.9
"""If shuffled rows keep an order so often, it says little."""
_FEWEST_NONZERO = 0.02
_PARTS = ("year", "month", "day", "weekday", "hour", "minute")
_DAY = 86_400


def orders(sample: Sample) -> list[tuple[int, int]]:
    """Pairs (a, b) of numbers or of dates with a <= b."""
    found = []
    for columns in (sample.numbers, sample.dates):
        for a, b in [(a, b) for a in columns for b in columns if a != b]:
            x, y = columns[a], columns[b]
            known = ~(np.isnan(x) | np.isnan(y))
            if known.mean() < _FEWEST_KNOWN or (x[known] == y[known]).all():
                continue
            share = (x[known] <= y[known]).mean()
            if share >= sample.loose and (x[known] <= shuffled(y[known])).mean() <= _MOST_BY_CHANCE:
                found.append((a, b))
    pairs = set(found)
    # a <= c follows from a <= b and b <= c; two columns that are <= each other are almost equal and stay.
    return [
        (a, c)
        for a, c in found
        if not any((a, b) in pairs and (b, c) in pairs and (b, a) not in pairs for b, _ in found if b not in (a, c))
    ]


def equal(sample: Sample) -> list[tuple[int, int]]:
    """Pairs of columns that hold the same numbers."""
    return [
        (a, b)
        for columns in (sample.numbers, sample.dates)
        for a, b in combinations(columns, 2)
        if _agree(columns[a], columns[b], sample.loose) and _varies(columns[a])
    ]


def sums(sample: Sample) -> list[tuple[int, str, int, int]]:
    """Triples (c, sign, a, b): c = a + b or c = a * b. A difference is a sum of the other two."""
    columns = [c for c, x in sample.numbers.items() if _varies(x) and (np.nan_to_num(x) != 0).mean() >= _FEWEST_NONZERO]
    if len(columns) < 3:
        return []
    few = np.linspace(0, len(sample) - 1, min(_FIRST_LOOK, len(sample))).astype(np.int64)
    first = np.stack([sample.numbers[c][few] for c in columns])
    found = []
    for sign in "+*":
        for i, j in combinations(range(len(columns)), 2):
            made = first[i] + first[j] if sign == "+" else first[i] * first[j]
            a, b = columns[i], columns[j]
            alike = [columns[k] for k in np.flatnonzero(_mostly_equal(first, made, sample.least)).tolist()]
            found += [(c, sign, a, b) for c in alike if c not in (a, b) and _is_sum(sample, c, sign, a, b)]
    return found


def parts_of_dates(sample: Sample) -> list[tuple[int, str, int]]:
    """Triples (column, part, date): the column is the year, month, ... of the date."""
    found = []
    for date, seconds in sample.dates.items():
        at = torch.from_numpy(seconds)
        for part in _PARTS:
            made = CALENDAR[part](at).numpy()
            found += [
                (c, part, date) for c, x in sample.numbers.items() if _varies(made) and _agree(x, made, sample.loose)
            ]
    return found


def spans(sample: Sample) -> list[tuple[int, int, int]]:
    """Triples (column, later, earlier): the column is the number of days between two dates."""
    found = []
    for earlier, later in [(a, b) for a in sample.dates for b in sample.dates if a != b]:
        days = np.floor(sample.dates[later] / _DAY) - np.floor(sample.dates[earlier] / _DAY)
        found += [
            (c, later, earlier) for c, x in sample.numbers.items() if _varies(days) and _agree(x, days, sample.loose)
        ]
    return found


def _is_sum(sample: Sample, c: int, sign: str, a: int, b: int) -> bool:
    """Whether c is a + b (a * b) in the sample, and not just a or b with something that is almost always 0 (1)."""
    x, y, z = sample.numbers[a], sample.numbers[b], sample.numbers[c]
    made = x + y if sign == "+" else x * y
    if not _agree(z, made, sample.loose):
        return False
    return not any(_agree(z, one, 1 - _FEWEST_NONZERO) for one in (x, y))


def _mostly_equal(columns: np.ndarray, made: NumberColumn, least: float) -> Bool[np.ndarray, "columns"]:
    """Which of many columns agree with computed numbers in a first look; a few rows may differ or be unknown."""
    with np.errstate(invalid="ignore"):
        off = np.abs(columns - made) > TOLERANCE * np.maximum(1.0, np.maximum(np.abs(columns), np.abs(made)))
    known = (~np.isnan(columns) & ~np.isnan(made)).sum(1)
    return (off.sum(1) <= 2 + 2 * (1 - least) * len(made)) & (known >= _FEWEST_KNOWN * len(made))


def _agree(x: NumberColumn, y: NumberColumn, least: float) -> bool:
    """Whether two columns of numbers are equal in enough of the rows where both are known."""
    known = ~(np.isnan(x) | np.isnan(y))
    if known.mean() < _FEWEST_KNOWN:
        return False
    a, b = x[known], y[known]
    same = np.abs(a - b) <= TOLERANCE * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    return bool(same.mean() >= least)


def _varies(x: NumberColumn) -> bool:
    known = x[~np.isnan(x)]
    return len(known) > 0 and isfinite(float(known[0])) and bool((known != known[0]).mean() >= _FEWEST_NONZERO)
