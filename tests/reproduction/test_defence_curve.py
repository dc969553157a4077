"""Curves: one figure per budget, its points are the lines of the table."""

from dataclasses import replace

import numpy as np
import pytest

from hammingbox.reproduction.defence_curve import CURVE_SPLICE
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK


def test_a_curve_has_a_figure_for_every_budget(workspace: Workspace) -> None:
    size = Size(victims=(QUICK, replace(QUICK, label="again")), rows=6, budgets=(1, 3), attacks=("gga",))
    outcome = CURVE_SPLICE.run(workspace, size)
    assert list(outcome.figures) == ["defence-curve-splice-budget1", "defence-curve-splice-budget3"]
    tables = [table for table in outcome.tables if "error %" in table.headings]
    for table, figure in zip(tables, outcome.figures.values(), strict=True):
        worst = [row[2] for row in table.rows if row[1] == "worst of all"]
        (axes,) = figure.axes
        assert [np.asarray(line.get_ydata())[0] for line in axes.lines] == pytest.approx(worst)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["small CNN", "again"]
