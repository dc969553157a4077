"""Intervals of differences and ratios: hand-computed values, invariances, and coverage in simulations."""

import numpy as np
import pytest
from jaxtyping import Float
from numpy import ndarray

from hammingbox.studies.bootstrap import difference_interval, ratio_interval, row_weights
from hammingbox.studies.line_errors import LineErrors

Chances = Float[ndarray, "trainings rows"]


def line(wrong: object, numbers: object = None) -> LineErrors:
    """A line with one attack seed; `wrong` is (trainings, rows)."""
    array = np.array(wrong, dtype=bool)[:, None]
    rows = np.arange(array.shape[2]) if numbers is None else np.array(numbers)
    return LineErrors(tuple(range(len(array))), rows, array)


def test_rows_alone_give_the_binomial_width() -> None:
    """One training, the second line never wrong: the difference is a share of 100 rows."""
    share = line([[True] * 30 + [False] * 70])
    low, high = difference_interval(share, line([[False] * 100]))
    half = 1.96 * (0.3 * 0.7 / 100) ** 0.5
    assert (low, high) == pytest.approx((0.3 - half, 0.3 + half), abs=0.01)
    assert ratio_interval(share, share) == pytest.approx((1.0, 1.0))
    assert ratio_interval(share, line([[False] * 100])) is None
    assert ratio_interval(line([[False] * 100]), share) == pytest.approx((0.0, 0.0))


def test_trainings_alone_give_the_t_interval() -> None:
    """Rows that are all alike have no noise: three trainings with errors 0, 0 and 1."""
    rows = 50
    one = line([[False] * rows, [False] * rows, [True] * rows])
    low, high = difference_interval(one, line([[False] * rows] * 3))
    mean, deviation = 1 / 3, (1 / 3) ** 0.5
    half = 4.303 * deviation / 3**0.5
    assert (low, high) == pytest.approx((mean - half, mean + half), rel=0.07)
    ratio = ratio_interval(one, line([[True] * rows] * 3))
    assert ratio is not None
    assert ratio == pytest.approx((0.0, mean + half), rel=0.07), "a ratio is never below 0"


def test_trainings_that_agree_on_every_row_count_as_one() -> None:
    wrong, never = [True] * 30 + [False] * 70, [False] * 100
    alone = difference_interval(line([wrong]), line([never]))
    assert difference_interval(line([wrong] * 3), line([never] * 3)) == pytest.approx(alone)
    half, once = [True] * 50 + [False] * 50, ratio_interval(line([wrong]), line([[True] * 50 + [False] * 50]))
    assert ratio_interval(line([wrong] * 3), line([half] * 3)) == pytest.approx(once)


def test_trainings_are_compared_in_pairs() -> None:
    """What both lines of a training have in common does not widen the interval."""
    easy, hard = [False] * 80 + [True] * 20, [False] * 40 + [True] * 60
    both = line([easy, hard, easy])
    assert difference_interval(both, both) == (0.0, 0.0)
    crossed = difference_interval(both, line([hard, easy, easy]))
    assert crossed.low < -0.2 < 0.2 < crossed.high


def test_intervals_are_repeatable_and_do_not_depend_on_the_order_of_rows() -> None:
    random = np.random.default_rng(0)
    one, two = random.random((2, 2, 60)) < 0.4
    order = random.permutation(60)
    numbers = np.arange(60) * 3
    straight = difference_interval(line(one, numbers), line(two, numbers))
    assert straight == difference_interval(line(one, numbers), line(two, numbers))
    shuffled = difference_interval(line(one[:, order], numbers[order]), line(two[:, order], numbers[order]))
    assert shuffled == pytest.approx(straight)
    back = difference_interval(line(two, numbers), line(one, numbers))
    assert back == pytest.approx((-straight.high, -straight.low), abs=0.02)


def test_weights_belong_to_the_row() -> None:
    few, many = row_weights((3, 8)), row_weights((8, 5, 3))
    together = (few > 0).all(0)
    assert 0.3 < together.mean() < 0.5, "each of two rows is in 63 % of the replicates"
    assert few[0][together] / few[1][together] == pytest.approx(many[2][together] / many[0][together])
    large = row_weights(tuple(range(400)))
    assert large.sum(0) == pytest.approx(np.ones(large.shape[1]), rel=1e-4)
    assert (400 * large).std() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("trainings", "spread"), [(1, 0.0), (2, 1.0), (3, 0.0), (3, 1.0), (5, 0.5)])
def test_intervals_cover_the_truth(trainings: int, spread: float) -> None:
    """Rows and trainings both vary; the truth is the mean over all rows and all trainings that could have been."""
    random = np.random.default_rng(trainings)

    def chances(shift: float, rows: Float[ndarray, "rows"], count: int) -> Chances:
        return 1 / (1 + np.exp(-(shift + rows + random.normal(0, spread, (count, 1)))))

    everyone = random.normal(0, 1.5, 2000)
    first, second = (chances(shift, everyone, 2000).mean() for shift in (-0.3, 0.3))
    covered = np.zeros(2)
    repetitions = 150
    for _ in range(repetitions):
        rows = random.normal(0, 1.5, 100)
        one, two = (line(random.random((trainings, 100)) < chances(s, rows, trainings)) for s in (-0.3, 0.3))
        ratio = ratio_interval(one, two)
        assert ratio is not None
        difference = difference_interval(one, two)
        covered += [difference.low <= first - second <= difference.high, ratio.low <= first / second <= ratio.high]
    # Three standard errors below 95 %; with equal trainings the interval is wider than it need be.
    assert (covered / repetitions > 0.95 - 3 * (0.95 * 0.05 / repetitions) ** 0.5).all()
