"""Rates against published values and by hand."""

from math import sqrt

import numpy as np
import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.evaluation.class_rates import ClassRate, ClassRates, class_rates
from hammingbox.evaluation.confusion import Confusion, confusion_of, recall_by_class
from hammingbox.evaluation.rates import Rate, WeightedRate


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [  # Newcombe (1998), Table I: Wilson's score interval
        (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
    ],
)  # fmt: skip
def test_wilsons_interval(hits: int, rows: int, low: float, high: float) -> None:
    assert Rate(hits, rows).interval == pytest.approx((low, high), abs=5e-5)
    assert Rate(rows - hits, rows).interval == pytest.approx((1 - high, 1 - low), abs=5e-5)
    assert Rate(hits, rows).known_interval == list(Rate(hits, rows).interval)


def test_the_share_lies_in_its_interval() -> None:
    for rows in range(1, 40):
        for hits in range(rows + 1):
            low, high = Rate(hits, rows).interval
            assert 0.0 <= low <= hits / rows <= high <= 1.0
            assert high - low > 0.0


def test_strata_add_up_in_squares() -> None:
    one, two = Rate(3, 10), Rate(8, 20)
    found = WeightedRate.of([(30.0, one), (10.0, two), (0.0, Rate(1, 1))])
    assert found is not None
    value = 0.75 * 0.3 + 0.25 * 0.4
    assert found.value == pytest.approx(value)
    for end, sign in ((0, -1), (1, 1)):
        width = sqrt((0.75 * (one.interval[end] - 0.3)) ** 2 + (0.25 * (two.interval[end] - 0.4)) ** 2)
        assert found.interval[end] == pytest.approx(value + sign * width)
    assert WeightedRate.of([(1.0, Rate(0, 2)), (1.0, Rate(0, 2))]).interval[0] == 0.0
    assert WeightedRate.of([(1.0, Rate(2, 2)), (1.0, Rate(2, 2))]).interval[1] == 1.0
    assert WeightedRate.of([(0.0, one)]) is None


def line(name: str, rows: int, correct: int, broken: int, population: int | None = None) -> ClassRate:
    return ClassRate(name, rows, correct, correct, broken, population)


def test_the_worst_class() -> None:
    half, better = line("half", 10, 10, 5), line("better", 10, 10, 4)
    wrong = line("wrong before", 10, 5, 0)
    assert ClassRates((better, half)).worst is half
    assert ClassRates((wrong, half)).worst is half, "of equal robust errors the one that falls more often"
    assert ClassRates((half, wrong)).worst is half
    assert ClassRates((line("none", 0, 0, 0),)).worst is None
    never = line("never right", 4, 0, 0)
    assert ClassRates((never, line("all fell", 4, 4, 4))).worst != never
    assert ClassRates((better, half), "better").of_headline is better
    assert ClassRates((better, half)).of_headline is half


def test_the_majority_of_the_split_or_of_the_rows() -> None:
    few = (line("a", 2, 2, 0, 10), line("b", 6, 6, 0, 30), line("c", 0, 0, 0, 0))
    assert ClassRates(few).majority == ("b", 0.75)
    unknown = (line("a", 6, 6, 0), line("b", 2, 2, 0, 30))
    assert ClassRates(unknown).majority == ("a", 0.75), "the split is not known, so the rows count"
    assert ClassRates((line("a", 3, 3, 0, 0), line("b", 1, 1, 0, 0))).majority == ("a", 0.75)
    assert ClassRates((line("a", 0, 0, 0),)).majority is None
    assert ClassRates((line("a", 0, 0, 0),)).balanced_accuracy is None
    assert ClassRates(few).balanced_robust_accuracy == 1.0
    assert ClassRates((line("a", 4, 3, 1), line("b", 2, 2, 1))).balanced_robust_accuracy == pytest.approx(
        (0.5 + 0.5) / 2
    )


def test_weights_are_attacked_rows_of_the_split() -> None:
    first = ClassRate("a", 10, 10, 5, 1, 100)  # half of its rows are attacked: 50 in the split
    second = ClassRate("b", 4, 4, 4, 3, 150)
    found = ClassRates((first, second)).weighted_success
    assert found is not None
    assert found.value == pytest.approx((50 * 0.2 + 150 * 0.75) / 200)
    assert ClassRates((ClassRate("a", 1, 1, 1, 0), ClassRate("b", 1, 1, 1, 0))).weighted_success is None
    assert ClassRates((first, ClassRate("c", 0, 0, 0, 0, 1))).missing == ("c",)
    shown = ClassRates((first, ClassRate("c", 0, 0, 0, 0, 1), ClassRate("d", 0, 0, 0, 0, 0))).to_json()["classes"]
    assert [part["class"] for part in shown] == ["a", "c"]


def test_what_broken_rows_become() -> None:
    labels = np.array([0, 0, 0, 0, 1])
    broken = np.array([True, True, True, False, True])
    found = class_rates(
        ("a", "b", "c"), labels, correct=np.ones(5, np.bool_), attacked=np.ones(5, np.bool_), broken=broken,
        predicted=np.array([1, 2, 2, 1, 0]),
    )  # fmt: skip
    assert [part.becomes for part in found.lines] == [(("c", 2), ("b", 1)), (("a", 1),), ()]
    assert [part.robust_error for part in found.lines] == [Rate(3, 4), Rate(1, 1), Rate(0, 0)]


def test_a_confusion_by_hand() -> None:
    found = Confusion(("a", "b", "c"), torch.tensor([[6, 2, 0], [1, 1, 2], [0, 0, 0]]))
    assert found.accuracy == pytest.approx(7 / 12)
    assert found.majority_baseline == pytest.approx(8 / 12)
    assert found.balanced_accuracy == pytest.approx((0.75 + 0.25) / 2)
    assert found.predicted == {"a": 7, "b": 3, "c": 2}
    nothing = Confusion(("a", "b"), torch.zeros(2, 2, dtype=torch.int64))
    assert (nothing.accuracy, nothing.majority_baseline, nothing.given_up) == (0.0, 0.0, ())
    right, labels = torch.tensor([True, False, True, True]), torch.tensor([0, 0, 2, 2])
    assert recall_by_class(right, labels, 4) == [Rate(1, 2), Rate(0, 0), Rate(2, 2), Rate(0, 0)]


@pytest.mark.parametrize(
    ("counts", "given_up"),
    [
        ([[10, 0], [9, 1]], ()),  # a recall of 0.1, and 10 % of the way from guessing to certainty
        ([[95, 5], [90, 10]], ("bad",)),  # 5 % of the way
        ([[100, 0], [91, 9]], ("bad",)),
        ([[40, 60], [40, 60]], ("good",)),  # guesses: the class it is worst at
        ([[60, 40], [39, 61]], ()),
    ],
)
def test_where_a_class_is_given_up(counts: list[list[int]], given_up: tuple[str, ...]) -> None:
    assert Confusion(("good", "bad"), torch.tensor(counts)).given_up == given_up


def test_a_tie_is_the_true_class() -> None:
    data = Dataset(Schema.sequence(1, "ab", ("x", "y")), torch.zeros(3, 1, dtype=torch.int64), torch.tensor([0, 1, 1]))
    answers = torch.tensor([[1.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    assert confusion_of(answers, data).counts.tolist() == [[1, 0], [1, 1]]
