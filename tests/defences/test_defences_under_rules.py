"""Defences under prices and relations train on rows that an attacker could have written, and on no others."""

from decimal import Decimal
from itertools import product

import pytest
import torch
from torch import Tensor

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Feature, Schema
from hammingbox.defences import DEFENCES
from hammingbox.errors import InputError
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.zoo.mlp import TableMLP

SCHEMA = Schema(
    (
        Feature("city", ("Paris", "Lyon", "Rome")),
        Feature("country", ("France", "Italy")),
        Feature("first", ("0", "1", "2"), "number"),
        Feature("second", ("0", "1"), "number"),
        Feature("total", ("0", "1", "2", "3"), "number"),
    ),
    ("a", "b"),
)
RULES = Rules(
    SCHEMA,
    unit=Unit(Decimal(1), "EUR"),
    columns=(
        ColumnRule("city", price=2),
        ColumnRule("country", price=1),
        ColumnRule("first", up=1, down=-1, step=Decimal(1)),
        ColumnRule("second", price=3),
    ),
    relations=(Determines(SCHEMA, ["city"], "country", [["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"]]),),
    derived=(Derived(SCHEMA, "total", formula="first + second"),),
)
SPACE, BUDGET = RuledSpace(FullSpace(SCHEMA), RULES), 3


class Watched(TableMLP):
    """Remembers every row that it is trained on."""

    def __init__(self) -> None:
        super().__init__(SCHEMA.cardinalities, 2, dim=4, hidden=8)
        self.seen: set[tuple[int, ...]] = set()

    def forward(self, ids: Tensor) -> Tensor:
        if self.training:
            self.seen |= {tuple(row) for row in ids.tolist()}
        return super().forward(ids)


def rows() -> Dataset:
    """Paris only, so that every other city is an attacker's."""
    clean = torch.tensor([[0, 0, first, 0, first] for first in range(3)] * 4)
    return Dataset(SCHEMA, clean, clean[:, 2] % 2, "tiny")


def payable() -> set[tuple[int, ...]]:
    """Every row of the schema that some training row may become, by the rules themselves."""
    every = torch.tensor(list(product(*(range(size) for size in SCHEMA.cardinalities))))
    found: set[tuple[int, ...]] = set()
    for x in rows().batch(torch.arange(len(rows())))[0].long():
        x = x.expand_as(every)
        keeps = RULES.hold(x, every) & SPACE.affords(x, every, BUDGET)
        found |= {tuple(row) for row in every[keeps].tolist()}
    return found


@pytest.mark.parametrize("name", ["padvt", "swap", "trades", "hotflip", "exhaustive"])
def test_only_payable_rows_are_trained_on(name: str) -> None:
    torch.manual_seed(0)
    victim, data = Watched(), rows()
    config = TrainConfig(epochs=4, batch_size=6, seed=0)
    fit(victim, Splits(data, data, data), config, defence=DEFENCES[name](), threat=ThreatModel(SPACE, BUDGET))
    clean = {tuple(row) for row in data.batch(torch.arange(len(data)))[0].tolist()}
    assert victim.seen <= payable()
    assert victim.seen - clean, "no adversarial row was trained on"


@pytest.mark.parametrize("name", ["padvt_paper", "ascc", "l2_ball"])
def test_defences_that_ignore_prices_are_refused(name: str) -> None:
    data = rows()
    with pytest.raises(InputError, match="within prices and relations"):
        fit(
            Watched(),
            Splits(data, data, data),
            TrainConfig(epochs=1),
            defence=DEFENCES[name](),
            threat=ThreatModel(SPACE, BUDGET),
        )
