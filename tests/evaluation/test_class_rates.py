"""Rates of every class: no class is hidden, a rate of no rows is none, totals are those of the whole split."""

import json

import numpy as np
import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.evaluation.class_rates import ClassRates, class_rates
from hammingbox.evaluation.confusion import Confusion, confusion, mean_recall, recall_by_class
from hammingbox.evaluation.rates import Rate, WeightedRate
from toys import ToyVictim, toy_rows, toy_schema

CLASSES = ("ok", "fraud", "unseen")


def rates(positive: str | None = "fraud", population: tuple[int, ...] | None = (960, 40, 0)) -> ClassRates:
    """Ten rows of each class: ok 8 right and 2 broken, fraud 5 right and all broken."""
    labels = np.repeat([0, 1], 10)
    correct = np.array([True] * 8 + [False] * 2 + [True] * 5 + [False] * 5)
    broken = np.array([True] * 2 + [False] * 8 + [True] * 5 + [False] * 5)
    predicted = np.where(broken, 1 - labels, labels)
    return class_rates(
        CLASSES, labels, correct=correct, attacked=correct, broken=broken, predicted=predicted,
        population=population, positive=positive,
    )  # fmt: skip


def test_the_positive_class_comes_first_and_the_worst_is_named() -> None:
    found = rates()
    assert [line.name for line in found.lines] == ["fraud", "ok", "unseen"]
    first = found.of_positive
    assert first is not None
    assert (first.success, first.recall, first.robust_error) == (Rate(5, 5), Rate(5, 10), Rate(10, 10))
    assert first.becomes == (("ok", 5),)
    assert found.worst is first
    assert [line.name for line in rates(None).lines] == list(CLASSES)
    with pytest.raises(InputError, match="positive class"):
        rates("frod")


def test_totals_are_those_of_the_split() -> None:
    found = rates()
    assert found.balanced_accuracy == pytest.approx((0.8 + 0.5) / 2)
    assert found.majority == ("ok", 0.96)
    right, broken = 0.96 * 0.8 + 0.04 * 0.5, 0.96 * 0.2 + 0.04 * 0.5
    assert found.weighted_accuracy is not None
    assert found.weighted_accuracy.value == pytest.approx(right)
    assert found.weighted_success is not None
    assert found.weighted_success.value == pytest.approx(broken / right)
    assert found.weighted_robust_error is not None
    assert found.weighted_robust_error.value == pytest.approx(0.96 * 0.4 + 0.04)
    low, high = found.weighted_robust_error.interval
    assert 0 <= low < found.weighted_robust_error.value < high <= 1
    assert rates(population=None).weighted_success is None


def test_a_class_of_the_split_without_rows_is_said_and_nothing_is_weighted() -> None:
    found = rates(population=(900, 50, 50))
    assert found.missing == ("unseen",)
    assert found.weighted_success is None
    assert found.weighted_robust_error is None
    record = found.to_json()
    assert record["classes_without_rows"] == ["unseen"]
    unseen = record["classes"][-1]
    assert (unseen["success_rate"], unseen["recall"], unseen["success_interval"]) == (None, None, None)
    json.dumps(record, allow_nan=False)


def test_a_class_that_is_never_right_is_not_robust() -> None:
    labels, never = np.array([0, 0, 1]), np.zeros(3, np.bool_)
    right = np.array([True, True, False])
    found = class_rates(
        ("a", "b"), labels, correct=right, attacked=right, broken=never, predicted=labels, population=(9, 1)
    )
    lost = found.lines[1]
    assert lost.success.known is None
    assert lost.robust_error.value == 1.0
    assert found.worst is lost
    assert found.weighted_success is not None, "a class without attacked rows weighs nothing among attacked rows"


def test_a_class_that_is_as_bad_as_the_worst_is_named_beside_it() -> None:
    assert [line.name for line in rates().worst_alike] == ["fraud"]
    labels, right = np.array([0, 0, 1, 1, 2, 2]), np.array([True, True, True, False, True, True])
    broken = np.array([True, True, True, False, True, False])
    found = class_rates(
        CLASSES, labels, correct=right, attacked=right, broken=broken, predicted=(labels + broken) % 3, positive="fraud"
    )
    assert [line.name for line in found.worst_alike] == ["fraud", "ok"], "2 of 2 rows of both are wrong"


def test_a_rate_of_no_rows_is_not_zero() -> None:
    nothing = Rate(0, 0)
    assert nothing.known is None
    assert nothing.known_interval is None
    assert np.isnan(nothing.value)
    assert nothing.interval == (0.0, 1.0)
    assert WeightedRate.of([(1.0, nothing), (1.0, Rate(1, 2))]) is None
    assert WeightedRate.of([(0.0, nothing), (1.0, Rate(1, 2))]) == WeightedRate.of([(3.0, Rate(1, 2))])
    assert WeightedRate.of([]) is None


def test_mean_recall_is_over_classes_with_rows() -> None:
    assert mean_recall([Rate(1, 2), Rate(1, 4), Rate(0, 0)]) == pytest.approx(0.375)
    assert mean_recall([]) == 0.0


def test_one_stratum_has_its_own_interval() -> None:
    alone = WeightedRate.of([(5.0, Rate(3, 9))])
    assert alone is not None
    assert alone.value == pytest.approx(1 / 3)
    assert alone.interval == pytest.approx(Rate(3, 9).interval)


def test_confusion_counts_answers_and_ties_as_every_rate() -> None:
    schema = toy_schema((3, 2, 5))
    victim = ToyVictim(schema.cardinalities, len(schema.classes)).eval()
    ids, labels = toy_rows(schema, victim, 50)
    labels[:10] = (labels[:10] + 1) % len(schema.classes)
    found = confusion(victim, Dataset(schema, ids, labels))
    answers = victim(ids).argmax(1)
    assert found.accuracy == pytest.approx((answers == labels).float().mean().item())
    assert list(found.predicted.values()) == torch.bincount(answers, minlength=len(schema.classes)).tolist()
    kept = recall_by_class(answers == labels, labels, len(schema.classes))
    assert list(found.recall.values()) == kept
    assert found.balanced_accuracy == mean_recall(kept)


@pytest.mark.parametrize(
    ("counts", "given_up"),
    [
        ([[142, 1], [55, 1]], ("bad",)),  # nearly constant
        ([[143, 0], [56, 0]], ("bad",)),
        ([[137, 6], [49, 7]], ("bad",)),  # recall 0.125: hardly better than guessing
        ([[128, 15], [28, 28]], ()),
        ([[100, 0], [0, 0]], ()),  # a part with one class says nothing about the other
    ],
)
def test_a_class_that_was_given_up(counts: list[list[int]], given_up: tuple[str, ...]) -> None:
    assert Confusion(("good", "bad"), torch.tensor(counts)).given_up == given_up


def test_facts_are_json() -> None:
    schema = Schema.sequence(1, "ab", ("x", "y"))
    facts = Confusion(schema.classes, torch.tensor([[2, 1], [0, 0]])).to_json("test_")
    assert facts["test_recall"] == {"x": pytest.approx(2 / 3), "y": None}
    json.dumps(facts, allow_nan=False)
