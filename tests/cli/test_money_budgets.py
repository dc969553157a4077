"""Budgets in money on the command line: exact, with or without the currency, and in no other one."""

from decimal import Decimal

import pytest

from hammingbox.cli.options import budgets_from
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace

SCHEMA = Schema((Feature("a", ("x", "y")),), ("no", "yes"))
SPACE = RuledSpace(FullSpace(SCHEMA), Rules(SCHEMA, Unit(Decimal("0.1"), "EUR"), (ColumnRule("a", price=1),)))


def test_amounts_are_ticks() -> None:
    assert budgets_from("0.2, 10 EUR", SPACE) == [2, 100]


@pytest.mark.parametrize(
    ("text", "said"),
    [("10 USD", "an amount in EUR, got '10 USD'. Convert"), ("0.25", "multiple of the unit 0.1 EUR"),
     ("-1", "at least 0, got '-1'. Write a number"), ("1-3", "such as 0.1"), ("", "such as 0.1")],
)  # fmt: skip
def test_other_budgets_are_one_sentence(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        budgets_from(text, SPACE)
