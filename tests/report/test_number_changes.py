"""Changes of numbers and dates are counted by what is written, because own values hardly repeat."""

from dataclasses import replace

import numpy as np
import pytest

from hammingbox.data.schema import Feature, Schema
from hammingbox.report.breakdown import by_feature
from hammingbox.report.number_changes import Change, in_words
from toys.result_sets import toy_results

AGE = Feature("age", (*map(str, range(20, 60)), "<missing>"), "number")
DAY = Feature("day", tuple(f"2024-03-{day:02d}" for day in range(1, 32)), "date")


def changed(feature: Feature, *pairs: tuple[str, str, int]) -> list[tuple[str, str, int]]:
    ids = {name: place for place, name in enumerate(feature.categories)}
    found = in_words(feature, [Change(ids[a], ids[b], times) for a, b, times in pairs])
    return [(words.before, words.after, words.times) for words in found]


@pytest.mark.parametrize(
    ("feature", "pairs", "words"),
    [
        (
            AGE,
            [("24", "22", 1), ("36", "22", 2), ("51", "22", 1), ("21", "22", 1), ("40", "55", 1)],
            [("a larger number", "22", 4), ("21", "22", 1), ("40", "55", 1)],
        ),
        (
            AGE,
            [("24", "25", 1), ("36", "37", 1), ("51", "52", 2), ("51", "50", 1), ("30", "29", 1)],
            [("a number", "that number + 1", 4), ("a number", "that number - 1", 2)],
        ),
        (
            AGE,
            [("24", "27", 1), ("36", "54", 1), ("51", "30", 1), ("20", "33", 1)],
            [("a number", "a larger one", 3), ("51", "30", 1)],
        ),
        (AGE, [("24", "27", 1), ("36", "54", 1)], [("24", "27", 1), ("36", "54", 1)]),
        (
            AGE,
            [("24", "<missing>", 1), ("25", "<missing>", 2), ("<missing>", "20", 1)],
            [("a number", "<missing>", 3), ("<missing>", "20", 1)],
        ),
        (
            DAY,
            [("2024-03-09", "2024-03-12", 1), ("2024-03-20", "2024-03-23", 2), ("2024-03-02", "2024-03-01", 1)],
            [("a date", "3 days later", 3), ("2024-03-02", "2024-03-01", 1)],
        ),
        (
            DAY,
            [("2024-03-09", "2024-03-31", 2), ("2024-03-20", "2024-03-31", 2)],
            [("an earlier date", "2024-03-31", 4)],
        ),
    ],
)  # fmt: skip
def test_changes_of_one_kind_are_one(
    feature: Feature, pairs: list[tuple[str, str, int]], words: list[tuple[str, str, int]]
) -> None:
    assert changed(feature, *pairs) == words


def test_the_list_of_a_table_with_numbers_counts_what_is_written() -> None:
    """The same results with and without the kind of a column: as categories, hardly any change occurs twice."""
    values = tuple(map(str, range(12)))
    names = [Feature("a", values), Feature("b", ("x", "y")), Feature("c", ("x", "y", "z"))]
    coded = toy_results(Schema(tuple(names), ("no", "yes")), attacks=("exhaustive",), budgets=(2,), rows=150)
    numeric = replace(coded, schema=Schema((Feature("a", values, "number"), *names[1:]), ("no", "yes")))
    pairs, kinds = by_feature(coded, "toy", swaps=99), by_feature(numeric, "toy", swaps=99)
    of_a = [[one.times for one in found.swaps if one.feature == "a"] for found in (pairs, kinds)]
    assert sum(of_a[0]) == sum(of_a[1]) > 0
    assert len(of_a[1]) < len(of_a[0])
    assert np.array_equal(pairs.per_feature, kinds.per_feature)
    assert [one for one in kinds.swaps if one.feature != "a"] == [one for one in pairs.swaps if one.feature != "a"]
    (line,) = [line for line in kinds.lines if line.name == "a"]
    assert line.times == max(of_a[1])
