"""Plausibility: pairs that the data never shows, and rows that look like no row of their class."""

import numpy as np
import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.registry import DATASETS
from hammingbox.data.schema import Feature, Schema
from hammingbox.evaluation import plausibility, seen_pairs
from hammingbox.evaluation.plausibility import Plausibility, own_rows_with_rare_pairs, plausibility_of
from hammingbox.evaluation.seen_pairs import SeenPairs
from hammingbox.evaluation.typical_rows import TypicalRows

SCHEMA = Schema(
    (
        Feature("city", ("Paris", "Lyon", "Rome")),
        Feature("country", ("France", "Italy")),
        Feature("amount", ("1", "2", "3", "1000"), "number"),
    ),
    ("ok", "fraud"),
)


def reference() -> Dataset:
    """Paris and Lyon in France, Rome in Italy, small amounts; a few frauds with the large amount."""
    generator = torch.Generator().manual_seed(0)
    city = torch.randint(0, 3, (400,), generator=generator)
    amount = torch.randint(0, 3, (400,), generator=generator)
    labels = torch.zeros(400, dtype=torch.int64)
    labels[:40], amount[:40] = 1, 3
    return Dataset(SCHEMA, torch.stack([city, (city == 2).long(), amount], 1), labels, "shop")


def test_pairs_that_never_occur_are_counted_where_the_attacker_wrote() -> None:
    x = torch.tensor([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]])
    written = torch.tensor([[2, 0, 0], [2, 1, 0], [0, 1, 1], [0, 0, 0]])
    data = reference()
    unseen = SeenPairs(SCHEMA, data.batch(torch.arange(len(data)))[0].long()).unseen(x, written)
    # Rome in France; Rome in Italy; the row itself has Paris in Italy, which the attacker did not write; nothing.
    assert unseen.tolist() == [1, 0, 0, 0]


def test_a_value_that_the_data_does_not_have_makes_no_unseen_pair() -> None:
    """Nothing is known about it: it is the anomaly that shows it."""
    data = reference().take(torch.arange(40, 400))
    pairs = SeenPairs(SCHEMA, data.batch(torch.arange(len(data)))[0].long())
    assert pairs.unseen(torch.tensor([[0, 0, 0]]), torch.tensor([[0, 0, 3]])).tolist() == [0]


def test_a_row_unlike_its_class_is_an_anomaly() -> None:
    x = torch.tensor([[0, 0, 3], [0, 0, 3]])
    written = torch.tensor([[0, 0, 1], [1, 0, 3]])  # a small amount; the large amount, taken for ok
    found = plausibility_of(reference(), x, written, torch.tensor([0, 0]))
    assert found.anomaly[0] < 0.95 < 0.99 < found.anomaly[1]
    assert found.is_plausible.tolist() == [True, False]


def test_a_pair_against_the_rule_of_the_class_is_less_typical() -> None:
    """The tree knows that the city decides the country: Rome in France is rarer than Rome and France alone say."""
    x = torch.tensor([[0, 0, 0]])
    known, broken = (
        plausibility_of(reference(), x, torch.tensor([row]), torch.tensor([0])).anomaly.item()
        for row in ([2, 1, 0], [2, 0, 0])
    )
    assert known < 0.95 < broken


def test_a_class_of_few_rows_says_nothing() -> None:
    data = reference().take(torch.arange(30, 400))  # ten frauds
    found = plausibility_of(data, torch.tensor([[0, 0, 0]]), torch.tensor([[0, 0, 1]]), torch.tensor([1]))
    assert found.anomaly.isnan().all()
    assert found.is_plausible.tolist() == [True]


NUMBERS = Schema(
    (Feature("amount", tuple(str(n) for n in range(200)), "number"), Feature("kind", ("a", "b"))), ("ok", "fraud")
)


def test_numbers_count_by_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """An amount that no row of its kind has is nothing new if many rows have one like it."""
    amount = torch.arange(200).repeat(5)
    kind = (amount >= 100).long()
    pairs = SeenPairs(NUMBERS, torch.stack([amount, kind], 1))
    x = torch.tensor([[10, 0], [10, 0], [10, 0]])
    written = torch.tensor([[37, 0], [150, 0], [150, 1]])
    assert pairs.unseen(x, written).tolist() == [0, 1, 0]
    monkeypatch.setattr(seen_pairs, "_LARGEST_TABLE", 0)
    assert pairs.unseen(x, written).tolist() == [0, 1, 0], "looked up among sorted codes"


def test_own_rows_with_pairs_of_their_own_are_counted() -> None:
    data = reference()
    assert own_rows_with_rare_pairs(data).hits == 0
    odd = data.ids.clone()
    odd[5] = torch.tensor([0, 1, 0])  # the only Paris in Italy
    assert own_rows_with_rare_pairs(Dataset(SCHEMA, odd, data.labels, "shop")).hits == 1
    assert own_rows_with_rare_pairs(data.take(torch.arange(0))).rows == 0


def test_rows_of_the_same_source_are_not_called_odd() -> None:
    """Rows that were not learned from look as typical as those that were, also where there are few."""
    data = DATASETS["german"].load().train
    rows, labels = (part.numpy() for part in data.batch(torch.arange(len(data))))
    good = rows[labels == 0]
    order = np.random.default_rng(0).permutation(len(good))
    odd = [
        (TypicalRows(data.schema, good[np.delete(order, part)]).more_typical(good[order[part]]) >= 0.95).mean()
        for part in (slice(0, 100), slice(100, 200), slice(200, 300))
    ]
    assert np.mean(odd) < 0.08


def test_the_twentieth_of_the_rows_that_is_least_typical_is_not_normal() -> None:
    anomaly = torch.tensor([0.9499, 0.95, 1.0, torch.nan, 0.0], dtype=torch.float64)
    found = Plausibility(torch.tensor([0, 0, 0, 0, 1]), anomaly)
    assert found.is_plausible.tolist() == [True, False, False, True, False]


def test_large_tables_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = reference()
    ids = data.batch(torch.arange(len(data)))[0].long()
    x, written = torch.tensor([[0, 0, 0]] * 3), torch.tensor([[2, 0, 0], [2, 1, 3], [1, 0, 2]])
    all_columns = SeenPairs(SCHEMA, ids).unseen(x, written)
    assert all_columns.tolist() == [1, 0, 0]
    monkeypatch.setattr(seen_pairs, "_LARGEST_TABLE", 6)
    assert SeenPairs(SCHEMA, ids).unseen(x, written).tolist() == all_columns.tolist()


@pytest.mark.parametrize("largest_table", [2**22, 0])
def test_pairs_are_counted_as_one_would_by_hand(largest_table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_pairs, "_LARGEST_TABLE", largest_table)
    generator = torch.Generator().manual_seed(1)
    schema = Schema(
        tuple(Feature(name, tuple("abcdef"[:size])) for name, size in zip("xyz", (4, 6, 3), strict=True)), ("no", "yes")
    )
    known, x, written = (
        torch.stack([torch.randint(0, size, (rows,), generator=generator) for size in (4, 6, 3)], 1)
        for rows in (12, 60, 60)
    )
    written[::7] = x[::7]
    rows = known.tolist()

    def times(row: list[int], one: int, two: int) -> int:
        return sum(other[one] == row[one] and other[two] == row[two] for other in rows)

    pairs, places = [(0, 1), (0, 2), (1, 2)], torch.arange(1, 12, 2)
    wanted = [
        sum(
            (own[i], own[j]) != (new[i], new[j])
            and {new[i]} <= {row[i] for row in rows}
            and {new[j]} <= {row[j] for row in rows}
            and times(new, i, j) == 0
            for i, j in pairs
        )
        for own, new in zip(x.tolist(), written.tolist(), strict=True)
    ]
    found = SeenPairs(schema, known)
    assert found.unseen(x, written).tolist() == wanted
    assert max(wanted) >= 2
    alone = [any(times(rows[place], *pair) == 1 for pair in pairs) for place in places.tolist()]
    assert found.only_there(places).tolist() == alone
    assert 0 < sum(alone) < len(alone)


def test_how_many_rows_are_looked_at() -> None:
    schema = Schema((Feature("a", ("x", "y")),), ("no", "yes"))
    for rows, wanted in ((1_000, 1_000), (1_001, 1_000), (2_500, 1_000)):
        data = Dataset(schema, torch.zeros(rows, 1, dtype=torch.int64), torch.zeros(rows, dtype=torch.int64))
        assert own_rows_with_rare_pairs(data).rows == wanted
    assert plausibility._evenly(10, 4).tolist() == [0, 2, 5, 7]
    assert plausibility._evenly(4, 4).tolist() == [0, 1, 2, 3]
    large = Dataset(schema, torch.zeros(1_000_001, 1, dtype=torch.int64), torch.zeros(1_000_001, dtype=torch.int64))
    assert len(plausibility._reference_rows(large)[0]) == 1_000_000


@pytest.mark.parametrize(("rows", "is_known"), [(19, False), (20, True)])
def test_twenty_rows_of_a_class_say_what_is_normal(rows: int, is_known: bool) -> None:
    data = reference().take(torch.arange(40 - rows, 400))
    found = plausibility_of(data, torch.tensor([[0, 0, 0]]), torch.tensor([[0, 0, 3]]), torch.tensor([1]))
    assert bool(found.anomaly.isnan()) != is_known
