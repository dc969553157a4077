"""Lambda by epoch: a line per epoch of every training with a penalty, and one curve per training."""

from typing import Any

import numpy as np
import pytest

from hammingbox.reproduction.training_curves import DefenceTableWithCurves
from hammingbox.studies.recipe import defended
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, number

STUDY = DefenceTableWithCurves(name="curves", title="Curves", source="a test", sizes={})


def test_lambda_of_every_training_is_a_table_and_a_figure(workspace: Workspace) -> None:
    settings: dict[str, Any] = {"epochs": 2, "robust_rows": 4, "train_rows": 64, "trainings": 2}
    paper = defended("as printed", QUICK, "padvt_paper", budget=1, **settings)
    hotflip = defended("HotFlip", QUICK, "hotflip", budget=1, **(settings | {"epochs": 1, "trainings": 1}))
    size = Size(victims=(QUICK, paper, hotflip), rows=4, budgets=(1,), attacks=("gga",))
    outcome = STUDY.run(workspace, size)
    table = outcome.tables[-1]
    assert table.title == "Curves: λ by epoch"
    assert [row[:3] for row in table.rows] == [(paper.name, s, e) for s in (0, 1) for e in (1, 2)]
    for seed, training in enumerate(paper.each_training()):
        history = workspace.checkpoint(training).training["history"]
        expected = [epoch["notes"]["penalty"] for epoch in history]
        lines = [row for row in table.rows if row[1] == seed]
        assert [number(row[3]) for row in lines] == pytest.approx(expected)
        assert [number(row[5]) for row in lines] == pytest.approx(
            [100 * (1 - e["validation_accuracy"]) for e in history]
        )
        (axes,) = outcome.figures["curves-penalty"].axes
        assert np.asarray(axes.lines[seed].get_ydata()).tolist() == pytest.approx(expected)


def test_without_a_penalty_there_is_none(workspace: Workspace) -> None:
    outcome = STUDY.run(workspace, Size(victims=(QUICK,), rows=4, budgets=(1,), attacks=("gga",)))
    assert not any("λ" in table.title for table in outcome.tables)
