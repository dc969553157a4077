"""A victim that has collapsed, is worse than no victim, or answers in another order is found; a sound one is not."""

import pytest
import torch

from hammingbox import Direction, Goal, Schema, Target
from hammingbox.evaluation.diagnose import Finding, diagnose_classes, diagnose_denominator
from hammingbox.evaluation.rates import Rate
from hammingbox.types import Logits
from toys import toy_schema


def schema_of(classes: int) -> Schema:
    return Schema(toy_schema((3, 2)).features, tuple(f"c{k}" for k in range(classes)))


def one_hot(answers: list[int], classes: int) -> Logits:
    return torch.nn.functional.one_hot(torch.tensor(answers), classes).float()


def found(answers: list[int], labels: list[int], classes: int = 2, goal: Goal | None = None) -> dict[str, Finding]:
    listed = diagnose_classes(one_hot(answers, classes), torch.tensor(labels), schema_of(classes), goal=goal)
    assert len({one.check for one in listed}) == len(listed)
    return {one.slug: one for one in listed}


GERMAN = [0] * 139 + [1] * 60
"""Labels like those of a credit table: 139 good, 60 bad."""


def test_a_constant_victim() -> None:
    listed = found([0] * 199, GERMAN)
    assert listed.keys() == {"collapsed-victim", "class-not-attacked"}
    assert listed["collapsed-victim"].severity == "error"
    assert "predicts 'c0' for 199 of 199 rows; 139 rows have this class" in listed["collapsed-victim"].seen
    assert "all 60 rows of class 'c1'" in listed["class-not-attacked"].seen


def test_a_nearly_constant_victim() -> None:
    assert "collapsed-victim" in found([0] * 198 + [1], GERMAN)
    assert "collapsed-victim" not in found([0] * 194 + [1] * 5, GERMAN), "97.5 % of the rows"
    assert "collapsed-victim" in found([1] * 198 + [0], GERMAN), "collapsed to the rare class"


def test_answers_that_all_tie_are_one_answer() -> None:
    """Every row counts as right when all logits are equal, so no rate shows it."""
    listed = diagnose_classes(torch.zeros(199, 2), torch.tensor(GERMAN), schema_of(2))
    assert [one.slug for one in listed] == ["collapsed-victim"]


def test_a_rare_class_alone_is_no_collapse() -> None:
    fraud = [0] * 990 + [1] * 10
    assert found(fraud, fraud) == {}
    assert found([0] * 994 + [1] * 6, fraud) == {}, "it finds more than half of them"
    assert "collapsed-victim" in found([0] * 998 + [1] * 2, fraud)
    assert "collapsed-victim" not in found([0] * 10, [0] * 6 + [1] * 4), "four rows are no evidence"


def test_a_class_that_is_never_predicted() -> None:
    labels = [0] * 30 + [1] * 30 + [2] * 5
    listed = found([0] * 30 + [1] * 30 + [0] * 5, labels, 3)
    assert listed["class-never-predicted"].severity == "warning"
    assert "never predicts 'c2'; 5 of 65 rows" in listed["class-never-predicted"].seen
    assert "class-never-predicted" not in found([0] * 30 + [1] * 34, labels[:-1], 3), "four rows are no evidence"


def test_no_better_than_the_majority_class() -> None:
    right = [*GERMAN]
    for wrong in (*range(20), *range(139, 179)):  # 139 right, as many as c0 has
        right[wrong] = 1 - right[wrong]
    listed = found(right, GERMAN)
    assert listed["no-better-than-the-majority-class"].severity == "warning"
    assert (
        "right on 139 of 199 rows; always answering 'c0' is right on 139"
        in listed["no-better-than-the-majority-class"].seen
    )
    right[0] = GERMAN[0]
    assert found(right, GERMAN) == {}, "one row better"
    for wrong in range(40):
        right[wrong] = 1
    assert found(right, GERMAN)["no-better-than-the-majority-class"].severity == "error"


def test_a_detector_that_is_less_accurate_than_never_is_of_use() -> None:
    fraud = [0] * 950 + [1] * 50
    listed = found([1] * 190 + [0] * 760 + [1] * 40 + [0] * 10, fraud)
    seen = listed["no-better-than-the-majority-class"]
    assert seen.severity == "note"
    assert "right on 800 of 1000 rows; always answering 'c0' is right on 950" in seen.seen
    assert "balanced accuracy is 80.0 % (guessing: 50.0 %)" in seen.seen
    guesses = found(([1] + [0] * 4) * 200, fraud)["no-better-than-the-majority-class"]
    assert guesses.severity == "error", "a guess that is right as often says nothing"


@pytest.mark.parametrize("shift", [1, 2])
def test_class_columns_in_another_order(shift: int) -> None:
    labels = [k for k in range(4) for _ in range(20)]
    answers = [(k + shift) % 4 for k in labels]
    answers[0] = labels[0]
    listed = found(answers, labels, 4)
    assert listed["class-order"].severity == "error"
    assert "right on 1 of 80 rows, and would be right on 79" in listed["class-order"].seen
    assert f"'c0' as 'c{-shift % 4}'" in listed["class-order"].seen
    assert "no-better-than-the-majority-class" not in listed, "said once"


def test_two_classes_exchanged_among_many() -> None:
    labels = [k for k in range(12) for _ in range(10)]
    exchanged = {3: 7, 7: 3, 4: 5, 5: 4}
    listed = found([exchanged.get(k, k) for k in labels], labels, 12)
    assert "('c3' as 'c7', 'c4' as 'c5', 'c5' as 'c4', 'c7' as 'c3')" in listed["class-order"].seen


def test_a_confused_victim_is_not_in_another_order() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        labels = torch.randint(3, (60,), generator=generator).tolist()
        answers = torch.randint(3, (60,), generator=generator).tolist()
        assert "class-order" not in found(answers, labels, 3), "answers at random"


def test_classes_without_rows_and_without_attacked_rows() -> None:
    labels = [0] * 100
    listed = found([0] * 100, labels)
    assert listed.keys() == {"absent-class"}, "with one class alone nothing else can be said"
    assert "none of the 100 rows is of class 'c1'" in listed["absent-class"].seen
    listed = found([0] * 30 + [1] * 30 + [0, 1, 1], [0] * 30 + [1] * 30 + [2] * 3, 4)
    assert "all 3 rows of class 'c2'" in listed["class-not-attacked"].seen
    assert "'c3'" in listed["absent-class"].seen


def test_a_goal_that_leaves_a_class_alone() -> None:
    labels = [0] * 100
    assert found(labels, labels, goal=Direction("c0", "c1")) == {}
    assert found(labels, labels, goal=Target("c1")) == {}, "rows of the target are not attacked"
    assert found(labels, labels, goal=Target("c0")).keys() == {"absent-class"}


def test_no_rows() -> None:
    assert diagnose_classes(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64), schema_of(2)) == []


def test_enough_rows_for_the_claim() -> None:
    def denominator(hits: int, rows: int) -> list[str]:
        return [f"{one.slug}/{one.severity}" for one in diagnose_denominator(Rate(hits, rows), rows=99, correct=9)]

    assert denominator(0, 0) == ["nothing-attacked/error"]
    assert denominator(0, 29) == ["few-rows/warning"]
    assert denominator(0, 30) == [], "from 0 to 11 %"
    assert denominator(15, 30) == ["few-rows/note"], "from 33 to 67 %"
    assert denominator(50, 100) == []
    assert diagnose_denominator(Rate(0, 0), rows=0, correct=0) == []
