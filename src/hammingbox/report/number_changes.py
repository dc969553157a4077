"""Changes of numbers and dates in words: by what an attacker writes, because hardly two rows have the same own number.

24 -> 6, 36 -> 6, 12 -> 6     a larger number -> 6            3 times
31 -> 32, 58 -> 59            a number -> that number + 1     twice
8.1 -> 8.4, 2.2 -> 7.7        a number -> a larger one        twice
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from hammingbox.data.schema import Feature

_DAY = 86400


class Change(NamedTuple):
    """Ids of one column that were replaced, and how often."""

    before: int
    after: int
    times: int


class Words(NamedTuple):
    """A kind of change as a person reads it, and how often it occurs."""

    before: str
    after: str
    times: int


def in_words(feature: Feature, changes: Sequence[Change]) -> list[Words]:
    """The changes of a column of numbers or dates: those of one kind are one, the most frequent first.

    The kind is the value that is written, or the step where there are fewer steps than values. Where neither occurs
    twice on average, it is the direction. A kind with one member is shown as it is.
    """
    numbers = feature.numbers
    is_number = ~np.isnan(numbers)
    moves = [change for change in changes if is_number[change.before] and is_number[change.after]]
    others = [change for change in changes if not (is_number[change.before] and is_number[change.after])]
    rises = {change: bool(numbers[change.after] > numbers[change.before]) for change in moves}
    steps = {change: round(float(numbers[change.after] - numbers[change.before]), 9) for change in moves}

    def by_value(change: Change) -> tuple[Hashable, str, str]:
        return (change.after, rises[change]), _own(feature, not rises[change]), feature.categories[change.after]

    def by_step(change: Change) -> tuple[Hashable, str, str]:
        return steps[change], _own(feature), _stepped(feature, steps[change])

    def by_direction(change: Change) -> tuple[Hashable, str, str]:
        return rises[change], _own(feature), f"{_comparative(feature, rises[change])} one"

    values, distinct = {by_value(change)[0] for change in moves}, set(steps.values())
    kind = by_step if len(distinct) < len(values) else by_value
    if 2 * min(len(distinct), len(values)) > sum(change.times for change in moves) > 2:
        kind = by_direction

    def of_others(change: Change) -> tuple[Hashable, str, str]:
        written = feature.categories[change.after]
        if is_number[change.before]:
            return (None, change.after), _own(feature), written
        return (change.before, change.after), feature.categories[change.before], written

    found = [*_grouped(feature, moves, kind), *_grouped(feature, others, of_others)]
    return sorted(found, key=lambda words: -words.times)


def _grouped(
    feature: Feature, changes: Sequence[Change], kind: Callable[[Change], tuple[Hashable, str, str]]
) -> list[Words]:
    groups: dict[Hashable, list[Change]] = {}
    for change in changes:
        groups.setdefault(kind(change)[0], []).append(change)
    found = []
    for members in groups.values():
        _, before, after = kind(members[0])
        if len(members) == 1:
            before, after = feature.categories[members[0].before], feature.categories[members[0].after]
        found.append(Words(before, after, sum(member.times for member in members)))
    return found


def _own(feature: Feature, larger: bool | None = None) -> str:
    """A row's own value."""
    noun = "date" if feature.kind == "date" else "number"
    return f"a {noun}" if larger is None else f"{_comparative(feature, larger)} {noun}"


def _comparative(feature: Feature, larger: bool) -> str:
    words = ("an earlier", "a later") if feature.kind == "date" else ("a smaller", "a larger")
    return words[larger]


def _stepped(feature: Feature, step: float) -> str:
    if feature.kind == "date":
        days = abs(step) / _DAY
        return f"{days:g} day{'' if days == 1 else 's'} {'later' if step > 0 else 'earlier'}"
    return f"that number {'+' if step > 0 else '-'} {abs(step):g}"
