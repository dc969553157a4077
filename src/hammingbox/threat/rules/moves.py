"""What an attacker can do to one row, listed: single changes, and changes of several columns that relations join."""

from dataclasses import dataclass
from math import prod

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.threat.candidates import Candidates
from hammingbox.threat.rules.rules import Rules
from hammingbox.types import Ids

MOST_JOINT = 200_000
"""Joint values of one group of columns that are listed; with more, the group is said to be too large."""


@dataclass(frozen=True)
class Moves:
    """What can be written into one set of columns of a row.

    Attributes:
        columns: one column, or those that relations join.
        rows: whole rows, derived columns included; the clean row is not among them. In order of price, then of ids.
        ticks: what each costs.
        is_whole: False if there are more than `MOST_JOINT`, of which none is listed then.
    """

    columns: tuple[int, ...]
    rows: Int64[Tensor, "moves features"]
    ticks: Int64[Tensor, "moves"]
    is_whole: bool = True


def moves_of(rules: Rules, x: Ids, base: Candidates) -> tuple[Moves, ...]:
    """All moves of one row, by sets of columns that are independent of each other.

    Args:
        rules: what the attacker may do.
        x: (1, features), the clean row.
        base: S(x) without these rules.
    """
    _, allowed = rules.priced(x, base)
    grouped = {column for group in rules.groups for column in group}
    derived = {each.column for each in rules.derived}
    alone = [(i,) for i in range(len(rules.schema.features)) if i not in grouped and i not in derived]
    found = []
    for columns in sorted([*alone, *rules.groups]):
        options = [_options(base, allowed, column) for column in columns]
        rows = _points(rules, x, columns, options)
        if rows is None:
            found.append(Moves(columns, x[:0], x[:0, 0], is_whole=False))
            continue
        rows = rows[(rows != x).any(1)]
        ticks = rules.bill(x.expand_as(rows), rows).sum(1)
        order = torch.argsort(ticks, stable=True)
        found.append(Moves(columns, rows[order], ticks[order]))
    return tuple(found)


def size_of(moves: tuple[Moves, ...]) -> int | None:
    """The number of rows in S(x), the clean one included; None if some group was too large to be listed."""
    return prod(len(each.rows) + 1 for each in moves) if all(each.is_whole for each in moves) else None


def _options(base: Candidates, allowed: Tensor, column: int) -> Int64[Tensor, "options"]:
    """The ids that may stand in a column, the clean one first."""
    start, width = int(base.layout.starts[column]), int(base.layout.widths[column])
    return base.ids[0, start : start + width][allowed[0, start : start + width]]


def _points(
    rules: Rules, x: Ids, columns: tuple[int, ...], options: list[Int64[Tensor, "_"]]
) -> Int64[Tensor, "points features"] | None:
    """The whole rows that differ from x in some columns and keep every relation; None if there are too many.

    Columns are added one by one. A relation is checked as soon as all its columns have their values, so that a city
    with the wrong country is not combined with anything else.
    """
    rows = x
    derived = {each.column for each in rules.derived}
    for place, (column, own) in enumerate(zip(columns, options, strict=True)):
        if len(rows) * len(own) > MOST_JOINT:
            return None
        written = own.repeat(len(rows))
        rows = rows.repeat_interleave(len(own), 0)
        rows[:, column] = written
        known = set(columns[: place + 1])
        for relation in rules.relations:
            inside = column in relation.columns and not derived.intersection(relation.columns)
            if inside and set(relation.columns).intersection(columns) <= known:
                here = list(relation.columns)
                changed = (rows[:, here] != x[:, here]).any(1)
                rows = rows[~changed | relation.holds(rows[:, here], x[:, here].expand(len(rows), -1))]
    rows, exist = rules.complete(rows, x.expand_as(rows))
    rows = rows[exist]
    return rows[rules.hold(x.expand_as(rows), rows)]
