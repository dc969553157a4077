"""Exact paired tests: against formulas, enumeration of all sign patterns, and their level in simulations."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.studies.paired_tests import flip_test, holm


def mcnemar(first_only: int, second_only: int) -> float:
    """The textbook formula: two-sided binomial on discordant rows."""
    n, few = first_only + second_only, min(first_only, second_only)
    return min(1.0, 2 * sum(comb(n, k) for k in range(few + 1)) / 2**n)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (5, 5), (2, 10), (10, 2), (0, 8), (37, 60), (150, 230)])
def test_one_training_is_mcnemars_exact_test(b: int, c: int) -> None:
    differences = np.array([1] * b + [-1] * c + [0] * 7)
    assert flip_test(differences) == pytest.approx(mcnemar(b, c), rel=1e-9)


def test_hand_computed_values() -> None:
    assert flip_test(np.array([1, 1, 1, 1, 1, 1, 1, 1, -1, -1])) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    # 3 + 1 and its mirror image are the only patterns of 4 with a sum of 4.
    assert flip_test(np.array([3, 1])) == 0.5
    # +2 and -1: sums of 3, 1, -1 and -3 are equally likely.
    assert flip_test(np.array([2, -1])) == 1.0
    assert flip_test(np.array([], dtype=np.int64)) == 1.0


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_distribution_is_that_of_all_sign_patterns(values: list[int]) -> None:
    observed = abs(sum(values))
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    expected = sum(total >= observed for total in sums) / len(sums)
    assert flip_test(np.array(values, dtype=np.int64)) == pytest.approx(expected)


def test_far_tails_are_not_lost() -> None:
    assert flip_test(np.ones(600, dtype=np.int64)) == pytest.approx(2.0**-599, rel=1e-6, abs=0.0)
    assert flip_test(np.array([1] * 4000 + [-1] * 3600)) == pytest.approx(4.9e-6, rel=0.1), "a whole test set"


def test_the_level_holds_when_trainings_share_their_rows() -> None:
    """Two methods that are equally good. A row that is hard for one training of a method is hard for its others."""
    random = np.random.default_rng(0)
    rejected = pooled = 0
    for _ in range(400):
        # Which method a row suits is a property of the row: the same in all three trainings.
        suits = random.choice([-1, 1], 80)
        clear = random.random((3, 80)) < 0.4
        differences = (clear * suits).astype(np.int64)
        rejected += flip_test(differences.sum(0)) < 0.05
        flat = differences.ravel()
        pooled += mcnemar(int((flat > 0).sum()), int((flat < 0).sum())) < 0.05
    assert rejected <= 0.05 * 400 + 3 * (400 * 0.05 * 0.95) ** 0.5
    assert pooled > 0.09 * 400, "adding up the discordant pairs of all trainings does not hold its level"


def test_a_real_difference_is_found() -> None:
    random = np.random.default_rng(1)
    wrong = random.random((2, 3, 300)) < np.array([0.30, 0.45])[:, None, None]
    assert flip_test((wrong[0].astype(np.int64) - wrong[1]).sum(0)) < 1e-4


def test_holm() -> None:
    assert holm([]) == []
    assert holm([0.02]) == [0.02]
    # 3 x 0.01, 2 x 0.02, 1 x 0.04, never smaller than the one before.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
