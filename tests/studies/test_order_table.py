"""Orders: hand-computed comparisons, verdicts, pairs by label, and how often equal methods are ordered."""

from dataclasses import replace

import numpy as np
import pytest

from hammingbox.report.artefacts.table import Interval
from hammingbox.studies.line_errors import LineErrors
from hammingbox.studies.order_table import Comparison, compare, matching_pairs, order_table
from hammingbox.studies.recipe import Recipe
from toys.line_errors import wrong_rows
from toys.studies import number

PADVT, HOTFLIP = (Recipe(label=label, data="splice") for label in ("PAdvT", "HotFlip"))


def comparison(one: LineErrors, two: LineErrors) -> Comparison:
    found = compare(PADVT, HOTFLIP, "ga", (one, two))
    assert found is not None
    return found


def test_a_comparison_by_hand() -> None:
    """Training 0: 6 rows only wrong in the second line, 1 only in the first. Training 1: 4 and 0."""
    one = wrong_rows([[1, 0, 0, 0, 0, 0, 0, 0, 1, 0]], [[0, 0, 0, 0, 0, 0, 0, 0, 1, 0]])
    two = wrong_rows([[0, 1, 1, 1, 1, 1, 1, 0, 1, 0]], [[0, 1, 1, 1, 1, 0, 0, 0, 1, 0]])
    found = comparison(one, two)
    assert found.difference == pytest.approx((-5 - 4) / 20)
    assert found.of_trainings == pytest.approx((2 * (1 + 7) / 2**7, 2 / 2**4)), "McNemar's exact test"
    # Rows differ by +1, four times -2, twice -1: 9 or more in absolute value from 7 signs.
    signs = np.array(np.meshgrid(*[[1, -1]] * 7)).reshape(7, -1).T
    sums = np.abs(signs @ np.array([1, 2, 2, 2, 2, 1, 1]))
    assert found.p == pytest.approx((sums >= 9).mean())
    assert found.rows == 10
    assert found.interval.low < found.difference < found.interval.high


def test_attack_seeds_are_averaged() -> None:
    one = wrong_rows([[1, 0, 1], [0, 0, 1]])
    two = wrong_rows([[1, 1, 1], [1, 1, 0]])
    found = comparison(one, two)
    assert found.difference == pytest.approx((3 - 5) / 6)
    # Over both seeds the rows differ by -1, -2 and +1: 2 of the 8 patterns reach 4 in absolute value, 6 reach 2.
    assert found.p == pytest.approx(6 / 8)
    of_union = compare(PADVT, HOTFLIP, "any", (one, wrong_rows([[1, 1, 1]])))
    assert of_union is not None
    assert of_union.difference == pytest.approx(0.5 - 1.0)


def test_nothing_to_compare() -> None:
    one = wrong_rows([[1, 0]])
    assert compare(PADVT, HOTFLIP, "ga", (one, None)) is None
    assert compare(PADVT, HOTFLIP, "ga", (one, replace(one, trainings=(3,)))) is None


def test_verdicts() -> None:
    clear = Comparison("a", "b", "ga", -0.1, Interval(-0.15, -0.05), (0.01, 0.02), 0.001, 100)
    assert clear.verdict(0.001) == "supported"
    assert clear.verdict(0.06) == "not supported", "Holm's p counts"
    assert replace(clear, interval=Interval(-0.2, 0.0)).verdict(0.001) == "not supported", "trainings differ too much"
    assert replace(clear, difference=0.1, interval=Interval(0.05, 0.2)).verdict(0.001) == "opposite supported"
    assert replace(clear, of_trainings=(0.001,)).verdict(0.001) == "supported (one training)"


def test_the_table_corrects_for_the_pairs_under_one_attack() -> None:
    one = Comparison("a", "b", "ga", -0.1, Interval(-0.15, -0.05), (0.01, 0.02), 0.02, 100, paper=-3.5)
    two = replace(one, higher="c", p=0.03)
    alone = replace(one, attack="sa", p=0.04)
    table = order_table("Order", [one, two, alone])
    assert table.column("p Holm") == pytest.approx([0.04, 0.04, 0.04])
    assert table.column("order") == ["supported"] * 3
    assert table.column("difference") == pytest.approx([-10.0] * 3)
    assert table.column("p per training") == ["0.01, 0.02"] * 3
    assert table.column("paper") == [-3.5] * 3
    third = replace(one, higher="d", p=0.2)
    assert order_table("Order", [one, two, third]).column("order") == ["not supported"] * 3


def test_pairs_are_found_by_label_for_every_model() -> None:
    names = ("word CNN, PAdvT", "word CNN, ASCC", "BiLSTM, PAdvT", "BiLSTM, ASCC", "PAdvT, late", "my-PAdvT")
    lines = [Recipe(label=name, data="imdb") for name in names]
    found = matching_pairs(lines, [("PAdvT", "ASCC"), ("PAdvT, late", "word CNN, ASCC")])
    assert [(one.label, two.label) for one, two in found] == [
        ("word CNN, PAdvT", "word CNN, ASCC"), ("BiLSTM, PAdvT", "BiLSTM, ASCC"), ("PAdvT, late", "word CNN, ASCC"),
    ]  # fmt: skip
    elsewhere = [lines[0], replace(lines[1], data="ag_news")]
    assert matching_pairs(elsewhere, [("PAdvT", "ASCC")]) == []


def test_equal_methods_are_rarely_ordered() -> None:
    """Three trainings of each, whose errors vary more than rows alone would make them."""
    random = np.random.default_rng(0)
    repetitions = 150

    def trainings(rows: np.ndarray) -> LineErrors:
        chances = 1 / (1 + np.exp(-(rows + random.normal(0, 0.6, (3, 1)))))
        return wrong_rows(*(random.random((3, 1, 100)) < chances[:, None]).astype(int).tolist())

    ordered = rows_only = 0
    for _ in range(repetitions):
        rows = random.normal(0, 1.5, 100)
        found = comparison(trainings(rows), trainings(rows))
        ordered += found.verdict(found.p) != "not supported"
        rows_only += found.p < 0.05
    assert ordered <= 0.05 * repetitions + 3 * (0.05 * 0.95 * repetitions) ** 0.5
    assert rows_only > 2 * ordered, "a test over rows alone would claim more"


def test_a_real_order_of_three_trainings_is_supported() -> None:
    random = np.random.default_rng(2)
    lines = (random.random((2, 3, 1, 500)) < np.array([0.3, 0.45])[:, None, None, None]).astype(int)
    one, two = (wrong_rows(*line.tolist()) for line in lines)
    table = order_table("Order", [comparison(one, two), comparison(two, one)])
    assert table.column("order") == ["supported", "opposite supported"]
    assert number(table.column("difference")[0]) == pytest.approx(-15, abs=5)
