"""Ratios of errors to the standard line, and which line that is."""

from dataclasses import replace

import pytest

from hammingbox.report.artefacts.table import Interval
from hammingbox.studies.ratio_table import Ratio, error_ratio, ratio_table, standard_line
from hammingbox.studies.recipe import Recipe, defended
from toys.line_errors import wrong_rows

STANDARD = Recipe(label="standard", data="ag_news")
WIDE = replace(STANDARD, label="standard, wide", model_settings={"channels": 384})
PADVT = defended("PAdvT", STANDARD, "padvt", budget=4)


def test_a_ratio_by_hand() -> None:
    padvt = wrong_rows([[1, 0, 0, 0]], [[1, 1, 0, 0]])
    standard = wrong_rows([[1, 1, 1, 1]], [[1, 1, 1, 0]])
    ratio = error_ratio(padvt, standard)
    assert ratio is not None
    assert ratio.value == pytest.approx(3 / 7), "mean error over mean error, not the mean of ratios"
    assert (ratio.trainings, ratio.rows) == (2, 4)
    assert ratio.interval is not None
    assert ratio.interval.low <= 3 / 7 <= ratio.interval.high
    never = wrong_rows([[0, 0, 0, 0]])
    assert error_ratio(padvt, never) == Ratio(None, None, 1, 4)
    assert error_ratio(padvt, None) is None


def test_the_standard_line_of_a_defended_line() -> None:
    lines = (STANDARD, WIDE, PADVT)
    wide = defended("PAdvT, wide", WIDE, "padvt", budget=4)
    assert standard_line(PADVT, lines, {}) is STANDARD
    assert standard_line(wide, lines, {}) is WIDE
    assert standard_line(STANDARD, lines, {}) is None
    # The start of this one is not in the table: the first standard line of the same model stands for it.
    early = defended("PAdvT, early", replace(STANDARD, training={"epochs": 2}), "padvt", budget=4)
    assert standard_line(early, lines, {}) is STANDARD
    longer = replace(STANDARD, label="standard, longer", training={"epochs": 2})
    assert standard_line(early, (*lines, longer), {}) is longer, "its own start comes first"
    assert standard_line(early, lines, {"PAdvT, early": "standard, wide"}) is WIDE
    assert standard_line(wide, (STANDARD,), {}) is None
    on_top = defended("twice", PADVT, "padvt", budget=4)
    assert standard_line(on_top, lines, {}) is STANDARD, "a defended line is no standard"


def test_the_table_shows_the_papers_ratio() -> None:
    table = ratio_table("Ratio", [(PADVT, STANDARD, "sa", Ratio(0.5, Interval(0.4, 0.6), 3, 500), 0.61)])
    (row,) = table.rows
    assert row == ("ag_news, PAdvT", "ag_news, standard", "sa", 0.5, Interval(0.4, 0.6), 3, 500, 0.61)
