"""IMDB by budget: the smallest budget at which the error reaches the paper's."""

from dataclasses import replace

import pytest

from hammingbox.reproduction import imdb_budgets
from hammingbox.reproduction.imdb_budgets import IMDB_BUDGETS
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, number


def test_the_smallest_budget_that_reaches_the_papers_error(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = Size(victims=(QUICK, replace(QUICK, label="unreached")), rows=12, budgets=(1, 2, 8), attacks=("ga", "swap"))
    worst = {}
    for budget in size.budgets:
        errors = IMDB_BUDGETS.run(workspace, size).tables
        (table,) = [t for t in errors if t.title == f"{IMDB_BUDGETS.title}, budget {budget}"]
        worst[budget] = next(number(row[2]) for row in table.rows if row[1] == "worst of all")
    assert worst[1] < worst[8]
    monkeypatch.setattr(imdb_budgets, "_PAPER", {QUICK.label: worst[1] + 0.1, "unreached": 101.0})
    first, second = IMDB_BUDGETS.run(workspace, size).tables[0].rows
    reached = 2 if worst[2] > worst[1] else 8
    assert first[2:4] == (reached, worst[reached])
    assert number(first[4]) == worst[8]
    assert second[1:4] == (101.0, None, None)
