"""Intervals over seeds and rows."""

import math

import pytest

from hammingbox.evaluation.rates import Rate
from hammingbox.studies.statistics import over_seeds


def test_intervals_over_seeds() -> None:
    combined = over_seeds([Rate(8, 10), Rate(6, 10), Rate(7, 10)])
    assert combined.mean == pytest.approx(0.7)
    # t(0.975, 2) = 4.303, standard deviation 0.1.
    assert combined.half_width == pytest.approx(4.303 * 0.1 / math.sqrt(3))
    assert combined.rows == Rate(7, 10).interval
    assert over_seeds([Rate(1, 2)]).half_width is None


def test_percent() -> None:
    combined = over_seeds([Rate(8, 10), Rate(6, 10)])
    percent = combined.percent()
    assert percent.mean == 100 * combined.mean
    assert combined.half_width is not None
    assert percent.half_width == 100 * combined.half_width
    assert percent.rows == tuple(100 * end for end in combined.rows)
    assert over_seeds([Rate(1, 2)]).percent().half_width is None
