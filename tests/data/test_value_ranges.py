"""Ranges of numbers: about the same number of rows each, and what is no number apart."""

import numpy as np

from hammingbox.data.schema import Feature
from hammingbox.data.value_ranges import number_of_ranges, range_codes, range_edges

AMOUNT = Feature("amount", (*(str(n) for n in range(100)), "<missing>", "?"), "number")


def test_ranges_hold_about_the_same_number_of_rows() -> None:
    ids = np.random.default_rng(0).integers(0, 100, 5000)
    codes = range_codes(AMOUNT, range_edges(AMOUNT, ids, 10))
    counts = np.bincount(codes[ids])
    assert len(counts) == 10
    assert counts.min() > 300
    assert (np.diff(codes[:100]) >= 0).all(), "ranges are in order"


def test_what_is_no_number_is_a_range_of_its_own() -> None:
    codes = range_codes(AMOUNT, (20.0, 50.0))
    assert codes[[0, 19, 20, 49, 50, 99]].tolist() == [0, 0, 1, 1, 2, 2]
    assert codes[[100, 101]].tolist() == [3, 4]


def test_few_values_and_categories_stand_for_themselves() -> None:
    few = np.array([3, 3, 7, 100])
    assert range_edges(AMOUNT, few, 4) == ()
    assert range_edges(Feature("city", tuple("abcdefgh")), np.arange(8), 4) == ()
    assert range_edges(AMOUNT, np.array([100, 101]), 1) == ()
    assert range_codes(AMOUNT, ()).tolist() == list(range(102))


def test_small_tables_have_few_ranges() -> None:
    assert [number_of_ranges(rows) for rows in (0, 10, 1_000, 10**6)] == [4, 4, 14, 32]
