"""The reach of a column holds every change that can be paid for, by the rules themselves."""

from decimal import Decimal
from itertools import product

import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.threat.column_reach import Reach, column_reach
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel

SCHEMA = Schema(
    (
        Feature("age", ("20", "30", "40"), "number"),
        Feature("phone", ("no", "yes")),
        Feature("device", ("a", "b", "c")),
        Feature("mails", ("0", "1", "2"), "number"),
        Feature("twice", ("0", "2", "4"), "number"),
        Feature("birth", ("20", "30", "40"), "number"),
    ),
    ("ok", "fraud"),
)
RULES = Rules(
    SCHEMA,
    unit=Unit(Decimal(1), "EUR"),
    columns=(
        ColumnRule("age", frozen=True),
        ColumnRule("phone", write={"yes": 10, "no": 1}),
        ColumnRule("device", price=2),
        ColumnRule("mails", up=1, down=-1, step=Decimal(1)),
    ),
    derived=(Derived(SCHEMA, "twice", formula="mails + mails"), Derived(SCHEMA, "birth", formula="age + 0")),
)
SPACE = RuledSpace(FullSpace(SCHEMA), RULES)
ROW = torch.tensor([[0, 0, 0, 0, 0, 0]])
N, U, D, B = Reach.NOTHING, Reach.UP, Reach.DOWN, Reach.BOTH


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(0, [N, N, N, N, N, N]), (1, [N, D, N, U, B, N]), (2, [N, D, B, U, B, N]), (10, [N, B, B, U, B, N])],
)
def test_prices_decide_the_reach(budget: int, expected: list[Reach]) -> None:
    assert list(column_reach(ThreatModel(SPACE, budget), ROW)) == expected


@pytest.mark.parametrize("budget", [1, 2, 9, 10])
def test_no_payable_change_is_out_of_reach(budget: int) -> None:
    reach = column_reach(ThreatModel(SPACE, budget), ROW)
    every = torch.tensor(list(product(*(range(size) for size in SCHEMA.cardinalities))))
    for x in every[(every[:, 4] == every[:, 3]) & (every[:, 5] == every[:, 0])]:
        keeps = RULES.hold(x.expand_as(every), every) & SPACE.affords(x.expand_as(every), every, budget)
        for change in (every[keeps] - x).sign().tolist():
            for each, sign in zip(reach, change, strict=True):
                assert sign == 0 or each is Reach.BOTH or each is (Reach.UP if sign > 0 else Reach.DOWN)


def test_spaces_without_prices() -> None:
    plain = Schema(SCHEMA.features[:4], SCHEMA.classes)
    spaces: list[tuple[Space, list[Reach]]] = [
        (FullSpace(plain), [B, B, B, B]),
        (MaskedSpace(plain, immutable=["age"], kept={"phone": ["no"]}), [N, D, B, B]),
    ]
    for space, expected in spaces:
        assert list(column_reach(ThreatModel(space, 1), ROW[:, :4])) == expected


def test_what_is_no_number_goes_both_ways() -> None:
    schema = Schema((Feature("mails", ("0", "1", "<missing>"), "number"), Feature("b", ("x", "y"))), ("ok", "fraud"))
    space = MaskedSpace(schema, immutable=["b"], kept={"mails": ["1", "<missing>"]}, forbidden={"mails": ["1"]})
    assert column_reach(ThreatModel(space, 1), torch.zeros(1, 2, dtype=torch.int64))[0] is Reach.BOTH


def test_a_free_column_is_within_reach_of_every_budget() -> None:
    columns = tuple(ColumnRule(f.name, price=0 if f.name == "device" else 9) for f in SCHEMA.features)
    rules = Rules(SCHEMA, unit=Unit(Decimal(1), "EUR"), columns=columns)
    for budget in (0, 1):
        assert column_reach(ThreatModel(RuledSpace(FullSpace(SCHEMA), rules), budget), ROW)[2] is B
