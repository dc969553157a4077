"""A small table with prices, relations and a computed column, and spaces over it."""

from decimal import Decimal
from functools import cache
from itertools import product

import torch
from torch import Tensor

from hammingbox.data.schema import Feature, Schema
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from hammingbox.types import Ids, Labels
from hammingbox.victims.victim import Victim
from toys import ToyVictim

EURO = Unit(Decimal("0.1"), "EUR")
SCHEMA = Schema(
    (
        Feature("city", ("Paris", "Lyon", "Rome", "Milan")),
        Feature("colour", ("red", "green", "blue")),
        Feature("country", ("France", "Italy")),
        Feature("first", ("0", "1", "2"), "number"),
        Feature("second", ("0", "1", "2"), "number"),
        Feature("total", ("0", "1", "2", "4"), "number"),  # no 3: some sums cannot be written
        Feature("size", ("S", "M", "L", "XL")),
        Feature("worth", ("0", "0.3", "1", "2"), "number"),
    ),
    ("class 0", "class 1", "class 2"),
)
CITIES = [["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"], ["Milan", "Italy"]]
DETERMINES = Determines(SCHEMA, ["city"], "country", CITIES)
ORDER = Formula(SCHEMA, "first <= second")
PAIRS = Combinations(SCHEMA, ["colour", "size"], [
    ["red", "S"], ["red", "M"], ["green", "L"], ["green", "S"], ["blue", "XL"], ["blue", "M"], ["blue", "L"],
])  # fmt: skip
TOTAL = Derived(SCHEMA, "total", formula="first + second")
CHEAP_AND_DEAR = {
    "city": ColumnRule("city", price=10),
    "colour": ColumnRule("colour", write={"red": 1, "green": 10, "blue": 0}),
    "country": ColumnRule("country", price=2),
    "first": ColumnRule("first", up=1, down=3, step=Decimal(1)),
    "second": ColumnRule("second", price=1),
    "total": ColumnRule("total", frozen=True),
    "size": ColumnRule("size", up=1, down=-1),
    "worth": ColumnRule("worth", frozen=True),
}


def _prices(*derived: str) -> tuple[ColumnRule, ...]:
    return tuple(rule for name, rule in CHEAP_AND_DEAR.items() if name not in derived)


def _ruled(**rules: object) -> RuledSpace:
    return RuledSpace(FullSpace(SCHEMA), Rules(SCHEMA, **rules))  # type: ignore[arg-type]


SPACES = {
    "prices": _ruled(unit=EURO, columns=_prices()),
    "prices and few changes": _ruled(unit=EURO, columns=_prices(), changes=2),
    "dependency": _ruled(unit=EURO, columns=_prices(), relations=(DETERMINES, ORDER)),
    "combinations": _ruled(unit=EURO, columns=_prices(), relations=(PAIRS,)),
    "sum": _ruled(unit=EURO, columns=_prices("total"), derived=(TOTAL,)),
    "everything": _ruled(
        unit=EURO, columns=_prices("total"), relations=(DETERMINES, ORDER, PAIRS), derived=(TOTAL,), changes=4),
    "relations alone": _ruled(
        columns=(ColumnRule("worth", frozen=True),), relations=(DETERMINES, PAIRS), derived=(TOTAL,)),
    "gain": _ruled(unit=EURO, columns=_prices(), gain=Gain(column="worth", margin=2)),
}  # fmt: skip


def priced_victim(seed: int = 0) -> ToyVictim:
    """A victim of the table."""
    return ToyVictim(SCHEMA.cardinalities, seed=seed)


def priced_rows(victim: Victim, rows: int = 10, seed: int = 1) -> tuple[Ids, Labels]:
    """Rows that keep the rules, but for the last two of more than two, with the victim's own answers as labels."""
    generator = torch.Generator().manual_seed(seed)
    every = every_row()
    order = torch.randperm(len(every), generator=generator)
    rules = SPACES["everything"].rules
    keeps = torch.stack(list(rules.breaks(every).values())).any(0).logical_not()
    good, bad = order[keeps[order]], order[~keeps[order]]
    ids = every[torch.cat([good[: max(rows - 2, 1)], bad[: min(2, rows - 1)]])]
    training = victim.training
    labels = victim.eval()(ids).argmax(1)
    victim.train(training)
    return ids, labels


@cache
def every_row() -> Tensor:
    """All rows of the schema."""
    return torch.tensor(list(product(*(range(size) for size in SCHEMA.cardinalities))))


def allowed_rows(space: RuledSpace, x: Tensor, budget: int) -> Tensor:
    """All rows that the rules let a row become within a budget: no slots, no options."""
    rows = every_row()
    rows = rows[rows[:, -1] == x[-1]]  # nobody may change the worth
    clean = x.expand_as(rows)
    return rows[space.rules.hold(clean, rows) & space.affords(clean, rows, budget)]
