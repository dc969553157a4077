"""Looks at a threat and a table together: which rules the data breaks, how large S(x) is, what changes cost."""

from dataclasses import dataclass
from statistics import median_low

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.moves import Moves, moves_of, size_of
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import Space

ROWS = 500
"""Rows whose S(x) is listed unless the user asks for more or fewer."""
_EXAMPLES = 3
_CHUNK = 50_000


@dataclass(frozen=True)
class BrokenRule:
    """How often the data breaks a rule.

    Attributes:
        name: of the rule.
        rows: how many rows break it.
        examples: the numbers of the first of them.
    """

    name: str
    rows: int
    examples: tuple[int, ...]


@dataclass(frozen=True)
class ColumnPrices:
    """What an attacker can do with one column, or with columns that are joined by relations.

    Attributes:
        columns: their names.
        rows: in how many of the looked-at rows something else may be written.
        cheapest: the lowest price of a change, over all rows; None if there is none.
        dearest: the highest one.
        is_whole: False if some row allows more joint values than are listed.
    """

    columns: tuple[str, ...]
    rows: int
    cheapest: int | None
    dearest: int | None
    is_whole: bool


@dataclass(frozen=True)
class Survey:
    """What `hammingbox threat check` shows.

    Attributes:
        rows: of the data, all of which are checked against the rules.
        broken: every relation and derived column, with how often the data breaks it.
        looked_at: rows whose S(x) was listed.
        smallest, median, largest: the number of rows in S(x), the clean one included; None if none could be listed. An
            upper bound where a relation ties too many columns together to be listed (`kind = "seen_together"`).
        uncounted: rows whose S(x) is too large to be listed.
        fixed: rows that cannot be attacked at all, since no change is allowed.
        fixed_examples: the numbers of the first of them.
        prices: what changes cost, by column.
        attackable: for each budget, how many rows have a change that it pays for.
        worth: the median of what a row is worth (gain - margin); None without gains.
    """

    rows: int
    broken: tuple[BrokenRule, ...]
    looked_at: int
    smallest: int | None
    median: int | None
    largest: int | None
    uncounted: int
    fixed: int
    fixed_examples: tuple[int, ...]
    prices: tuple[ColumnPrices, ...]
    attackable: dict[int, int]
    worth: int | None


def survey(rules: Rules, space: Space, data: Dataset, budgets: tuple[int, ...] = (), rows: int = ROWS) -> Survey:
    """Looks at a threat and a table together.

    Args:
        rules: what the attacker may do.
        space: S(x) without these rules.
        data: the rows. All of them are checked against the rules; S(x) is listed for the first `rows` of them.
        budgets: what may be spent.
        rows: how many rows are looked at one by one.
    """
    some = data.take(slice(0, rows))
    by_row = [moves_of(rules, x := some.batch([row])[0], space.candidates(x)) for row in range(len(some))]
    sizes = [size_of(moves) for moves in by_row]
    counted = [size for size in sizes if size is not None]
    fixed = (~RuledSpace(space, rules).candidates(some.batch(slice(None))[0]).changeable).nonzero()[:, 0].tolist()
    cheapest = [min((int(each.ticks[0]) for each in moves if len(each.ticks)), default=None) for moves in by_row]
    allowance = rules.allowance(some.batch(slice(None))[0])
    return Survey(
        rows=len(data),
        broken=_broken(rules, data),
        looked_at=len(some),
        smallest=min(counted, default=None),
        median=median_low(counted) if counted else None,
        largest=max(counted, default=None),
        uncounted=len(sizes) - len(counted),
        fixed=len(fixed),
        fixed_examples=tuple(some.numbers[fixed[:_EXAMPLES]].tolist()),
        prices=_prices(rules, by_row),
        attackable={budget: sum(price is not None and price <= budget for price in cheapest) for budget in budgets},
        worth=None if allowance is None else int(allowance.median()),
    )


def _broken(rules: Rules, data: Dataset) -> tuple[BrokenRule, ...]:
    """How often the data breaks each rule, the most often broken one first."""
    counts: dict[str, int] = {}
    examples: dict[str, list[int]] = {}
    for first in range(0, len(data), _CHUNK):
        part = slice(first, first + _CHUNK)
        for name, mask in rules.breaks(data.batch(part)[0]).items():
            counts[name] = counts.get(name, 0) + int(mask.sum())
            known = examples.setdefault(name, [])
            if len(known) < _EXAMPLES:
                known += data.numbers[part][mask][: _EXAMPLES - len(known)].tolist()
    found = [BrokenRule(name, count, tuple(examples[name])) for name, count in counts.items()]
    return tuple(sorted(found, key=lambda rule: -rule.rows))


def _prices(rules: Rules, by_row: list[tuple[Moves, ...]]) -> tuple[ColumnPrices, ...]:
    found = []
    for each in zip(*by_row, strict=True):
        ticks = torch.cat([moves.ticks for moves in each])
        found.append(
            ColumnPrices(
                columns=tuple(rules.schema.features[column].name for column in each[0].columns),
                rows=sum(len(moves.ticks) > 0 or not moves.is_whole for moves in each),
                cheapest=int(ticks.min()) if len(ticks) else None,
                dearest=int(ticks.max()) if len(ticks) else None,
                is_whole=all(moves.is_whole for moves in each),
            )
        )
    return tuple(found)
