"""Which columns must be judged together."""

from collections.abc import Iterable, Sequence

from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.relation import Relation


def groups_of(relations: Sequence[Relation], derived: Sequence[Derived]) -> tuple[tuple[int, ...], ...]:
    """Sets of written columns that relations join, each in increasing order.

    A derived column stands for the columns it is computed from. One of several inputs joins them by itself: its value
    may have no id for some of their combinations.

    Args:
        relations: what whole rows must keep. Those that tie too many columns together join nothing.
        derived: computed columns, each after those it is computed from.
    """
    sources: dict[int, set[int]] = {}
    for each in derived:
        sources[each.column] = _written(each.inputs, sources)
    sets = [_written(relation.columns, sources) for relation in relations if not relation.pointwise]
    sets += sources.values()
    joined: list[set[int]] = []
    for own in sets:
        apart = [group for group in joined if not group & own]
        joined = [*apart, own.union(*(group for group in joined if group & own))]
    return tuple(sorted(tuple(sorted(group)) for group in joined if group))


def _written(columns: Iterable[int], sources: dict[int, set[int]]) -> set[int]:
    return set().union(*(sources.get(column, {column}) for column in columns))
