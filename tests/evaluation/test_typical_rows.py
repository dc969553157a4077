"""Typical rows: a true distribution over rows, the best tree of dependencies, and values outside of what was seen."""

from itertools import combinations, product

import numpy as np
import pytest

from hammingbox.data.schema import Feature, Schema
from hammingbox.evaluation.typical_rows import TypicalRows


def letters(*sizes: int) -> Schema:
    return Schema(tuple(Feature(f"c{i}", tuple("abcdefgh"[:size])) for i, size in enumerate(sizes)), ("no", "yes"))


def column(feature: Feature, seen: list[int]) -> TypicalRows:
    return TypicalRows(Schema((feature,), ("no", "yes")), np.array(seen)[:, None])


def probability(model: TypicalRows, *row: int) -> float:
    return float(np.exp(model.log_likelihood(np.array([row])))[0])


def test_one_column_is_its_counts_plus_the_prior() -> None:
    model = column(Feature("c", ("a", "b", "never")), [0, 0, 0, 1])
    found = [probability(model, value) for value in range(3)]
    assert found == pytest.approx([3.5 / 6, 1.5 / 6, 0.5 / 6]), "the values, what was not seen, and one code to spare"


def test_a_column_depends_on_its_parent() -> None:
    rows = np.array([[0, 0]] * 5 + [[0, 1]] + [[1, 1]] * 3)
    model = TypicalRows(letters(2, 2), rows)
    first, second = (
        {0: 6.5 / 10.5, 1: 3.5 / 10.5},
        {(0, 0): 5.5 / 7.5, (0, 1): 1.5 / 7.5, (1, 0): 0.5 / 4.5, (1, 1): 3.5 / 4.5},
    )
    for a, b in product(range(2), repeat=2):
        assert probability(model, a, b) == pytest.approx(first[a] * second[a, b])


def mutual_information(rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]], one: int, two: int) -> float:
    total = 0.0
    for a, b in {tuple(pair) for pair in rows[:, [one, two]].tolist()}:
        together = float(((rows[:, one] == a) & (rows[:, two] == b)).mean())
        total += together * np.log(together / ((rows[:, one] == a).mean() * (rows[:, two] == b).mean()))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_no_tree_of_dependencies_is_better(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.integers(0, 3, (200, 5))
    for own, other in [(1, 3), (4, 1), (0, 2), (2, 4)]:  # some columns repeat others now and then
        copied = chance.random(200) < chance.random()
        rows[copied, own] = rows[copied, other]
    pairs = {pair: mutual_information(rows, *pair) for pair in combinations(range(5), 2)}
    best = max(sum(pairs[pair] for pair in tree) for tree in combinations(pairs, 4) if _is_a_tree(tree, 5))
    parents = TypicalRows(letters(*[3] * 5), rows)._tree._parents
    assert parents.count(-1) == 1
    chosen = [(min(child, parent), max(child, parent)) for child, parent in enumerate(parents) if parent >= 0]
    assert sum(pairs[pair] for pair in chosen) == pytest.approx(best)


def _is_a_tree(edges: tuple[tuple[int, int], ...], columns: int) -> bool:
    linked = {0}
    for _ in range(columns):
        linked |= {end for edge in edges if linked & set(edge) for end in edge}
    return len(linked) == columns


def test_more_typical_is_a_share_of_the_learned_rows() -> None:
    """Each of them is rated without the rows of its own part: here every part has the same rows."""
    seen = [value for value in [0] * 6 + [1] * 3 + [2] for _ in range(5)]
    model = column(Feature("c", ("a", "b", "c", "never")), seen)
    found = model.more_typical(np.array([[0], [1], [2], [3]]))
    assert found[[0, 1, 3]].tolist() == pytest.approx([0.0, 0.6, 1.0])
    assert found[2] >= 0.9


def test_rare_categories_of_a_long_column_are_one() -> None:
    """32 codes: the 31 most frequent, and one for the rest of those that occur; what never occurs is another."""
    names = tuple(f"v{i}" for i in range(41))
    seen = [value for value in range(40) for _ in range(100 - value)]  # v40 never occurs
    model = column(Feature("c", names), seen)
    rest = sum(100 - value for value in range(31, 40))
    total = len(seen) + 34 * 0.5
    assert probability(model, 0) == pytest.approx(100.5 / total)
    assert probability(model, 30) == pytest.approx(70.5 / total)
    assert [probability(model, value) for value in (31, 39)] == pytest.approx([(rest + 0.5) / total] * 2)
    assert probability(model, 40) == pytest.approx(0.5 / total)


def test_a_long_column_of_numbers_becomes_ranges_and_what_is_outside() -> None:
    values = tuple(str(number) for number in range(1000))
    feature = Feature("amount", values, "number")
    seen = [number for number in range(100, 900) if number % 10]  # 720 numbers in 30 ranges of 24
    model = column(feature, seen)
    found = np.exp(model.log_likelihood(np.arange(1000)[:, None]))
    assert (found[101] == found[102:120]).all(), "a number inside a range is as likely as its neighbours, seen or not"
    inside, outside = found[101:900], np.concatenate([found[:101], found[900:]])
    assert inside.min() == pytest.approx(24.5 / (720 + 33 * 0.5), rel=0.1)
    assert inside.max() < 1.2 * inside.min()
    ranges = np.searchsorted(np.quantile(seen, np.arange(1, 30) / 30), np.arange(101, 900), side="right")
    wanted = (np.bincount(ranges[[number - 101 for number in seen]]) + 0.5) / (720 + 33 * 0.5)
    assert inside == pytest.approx(wanted[ranges]), "thirty ranges, each with as many rows"
    assert (outside == outside[0]).all(), "below the least and above the largest"
    assert outside[0] < inside.min() / 20


def test_a_missing_number_that_occurs_is_a_value_and_otherwise_unlike_all() -> None:
    feature = Feature("amount", (*(str(number) for number in range(100)), "missing"), "number")
    numbers = list(range(100))
    with_gaps, without = column(feature, numbers + [100] * 50), column(feature, numbers)
    assert probability(with_gaps, 100) == pytest.approx(50.5 / (150 + 32 * 0.5), rel=0.02)
    assert probability(without, 100) < 0.01
    assert max(probability(with_gaps, number) for number in numbers) < 0.05, "no range has the missing ones too"


def test_at_most_fifty_thousand_rows_are_learned_from() -> None:
    feature = Feature("c", ("a", "b"))
    assert len(column(feature, [0, 1] * 49_999)._own) == 99_998
    assert len(column(feature, [0, 1] * 50_000)._own) == 50_000
