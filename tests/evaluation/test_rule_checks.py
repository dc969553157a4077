"""Findings about threats with rules: rows that cannot be attacked, and changes that cannot be written."""

from decimal import Decimal

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.evaluation.diagnose.rule_checks import diagnose_rules
from hammingbox.threat.goal import Direction
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.prices import CANNOT, ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel

SCHEMA = Schema(
    (
        Feature("net", ("1", "2", "5"), "number"),
        Feature("tax", ("0", "1"), "number"),
        Feature("total", ("1", "2", "3"), "number"),
    ),
    ("ok", "fraud"),
)
ROWS = Dataset(SCHEMA, torch.tensor([[0, 0, 0], [1, 0, 1], [1, 1, 2]]), torch.tensor([1, 1, 0]), "orders")


def found(budget: int, **rules: object) -> list[str]:
    space = RuledSpace(FullSpace(SCHEMA), Rules(SCHEMA, **rules))  # type: ignore[arg-type]
    findings = diagnose_rules(ROWS, ThreatModel(space, budget), goal=Direction("fraud", "ok"))
    return [f"{finding.slug}/{finding.severity}: {finding.seen}" for finding in findings]


def test_rows_without_a_payable_change_are_counted() -> None:
    unit = Unit(Decimal(1), "EUR")
    columns = (
        ColumnRule("net", up=5, down=1, step=Decimal(1)),
        ColumnRule("tax", frozen=True),
        ColumnRule("total", frozen=True),
    )
    # Of the two frauds, the first cannot go down from 1, and going up costs at least 5; the third row is no fraud.
    assert found(4, unit=unit, columns=columns) == [
        "budget-too-small/note: the largest budget pays for no change in 1 of 2 rows"
    ]
    assert found(0, unit=unit, columns=columns) == []
    assert found(5, unit=unit, columns=columns) == []


def test_rows_without_any_change_are_counted_apart() -> None:
    frozen = tuple(ColumnRule(name, frozen=True) for name in ("tax", "total"))
    # The first fraud cannot go down from 1; the second can, at a price that the budget does not pay.
    columns = (ColumnRule("net", up=CANNOT, down=3, step=Decimal(1)), *frozen)
    unit = Unit(Decimal(1), "EUR")
    assert found(4, unit=unit, columns=columns) == [
        "no-change-allowed/note: the threat leaves 1 of 2 rows no change at all: they are not attackable"
    ]
    assert found(2, unit=unit, columns=columns) == [
        "no-change-allowed/note: the threat leaves 1 of 2 rows no change at all: they are not attackable",
        "budget-too-small/note: the largest budget pays for no change in 1 of 2 rows",
    ]


def test_derived_values_that_the_table_lacks_are_said() -> None:
    derived = (Derived(SCHEMA, "total", formula="net + tax"),)
    # net 1 -> 2 and tax 0 -> 1 have totals, net 1 -> 5 has none; net 2 -> 1 and tax 0 -> 1 have, net 2 -> 5 has not.
    assert [line.split(":")[0] for line in found(1, derived=derived)] == ["unwritable-changes/warning"]
    assert "2 of 6 single changes" in found(1, derived=derived)[0]


def test_spaces_without_rules_have_no_such_findings() -> None:
    assert diagnose_rules(ROWS, ThreatModel(FullSpace(SCHEMA), 2)) == []
