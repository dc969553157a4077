"""Which rows are drawn: every class, by a seed, and larger draws contain smaller ones."""

from dataclasses import asdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.evaluation.drawing import Draw, Sample, _turns, draw_rows, population_of

SCHEMA = Schema.sequence(3, "ab", ("common", "rare", "never"))


def rows(labels: list[int]) -> Dataset:
    ids = torch.zeros(len(labels), 3, dtype=torch.int64)
    return Dataset(SCHEMA, ids, torch.tensor(labels), numbers=torch.arange(len(labels)) + 100)


LOPSIDED = rows([0] * 97 + [1] * 3)


def test_a_rare_class_is_drawn() -> None:
    assert population_of(LOPSIDED) == (97, 3, 0)
    few = draw_rows(LOPSIDED, Draw(rows=10))
    assert population_of(few) == (7, 3, 0), "all rows of the rare class, and the rest of the common one"
    assert population_of(draw_rows(LOPSIDED, Draw(per_class=2))) == (2, 2, 0)
    assert population_of(draw_rows(LOPSIDED, Draw(per_class=50))) == (50, 3, 0)
    assert few.labels[0] == 1, "the rarest class has the first turn"


def test_a_seed_decides_and_nothing_else() -> None:
    numbers = [draw_rows(LOPSIDED, Draw(rows=10, seed=seed)).numbers.tolist() for seed in (0, 0, 1)]
    assert numbers[0] == numbers[1] != numbers[2]
    at_random = draw_rows(LOPSIDED, Draw(rows=40, how="random"))
    assert len(set(at_random.numbers.tolist())) == 40
    assert at_random.numbers.tolist() != draw_rows(LOPSIDED, Draw(rows=40, how="first")).numbers.tolist()
    assert draw_rows(LOPSIDED, Draw(rows=4, how="first")).numbers.tolist() == [100, 101, 102, 103]


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
    st.sampled_from(["first", "random", "classes"]),
    st.integers(0, 3),
    st.data(),
)
def test_a_larger_draw_contains_the_smaller_one(labels: list[int], how: str, seed: int, data: st.DataObject) -> None:
    few = data.draw(st.integers(1, len(labels) - 1))
    part = rows(labels)
    small, large = (draw_rows(part, Draw(n, how=how, seed=seed)).numbers.tolist() for n in (few, few + 1))
    assert small == large[:-1]
    assert len(set(large)) == few + 1
    if how == "classes":
        counts = population_of(draw_rows(part, Draw(few, seed=seed)))
        available = population_of(part)
        short = [count for count, all_ in zip(counts, available, strict=True) if count < all_]
        assert not short or max(counts) - min(short) <= 1, "as many of each class as there are turns"


@pytest.mark.parametrize(
    "settings",
    [{}, {"rows": 3, "per_class": 3}, {"rows": 0}, {"rows": 3, "how": "last"}, {"per_class": 3, "how": "first"},
     {"rows": 3, "seed": -1}, {"rows": True}, {"how": "all", "rows": 3}, {"how": "all", "per_class": 3},
     {"per_class": 0}, {"rows": 2_000_000_000_000}],
)  # fmt: skip
def test_draws_that_make_no_sense(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected"):
        Draw(**settings)  # type: ignore[arg-type]


def test_a_split_has_no_more_rows_than_it_has() -> None:
    with pytest.raises(InputError, match="expected at most 100 rows, got --rows 101"):
        draw_rows(LOPSIDED, Draw(rows=101))
    assert len(draw_rows(LOPSIDED, Draw(rows=100))) == 100


def test_a_sample_survives_its_note() -> None:
    sample = Sample(Draw(per_class=4, seed=9), (97, 3, 0), "rare")
    note = sample.to_json()
    assert Sample.from_json(note) == sample
    assert note == asdict(sample.draw) | {"population": [97, 3, 0], "positive": "rare"}
    with pytest.raises(ValueError, match="the name of a class"):
        Sample.from_json(note | {"positive": 3})
    assert Sample.from_json({**note, "rows": 1, "per_class": None}).draw == Draw(rows=1, seed=9)
    assert Draw(rows=1) == Draw(1, None, "classes", 0), "what a note of an earlier run means without them"
    for damage in ({"population": [1.5]}, {"population": [-1]}, {"population": None}, {"positive": 3}, {"how": "last"}):
        with pytest.raises((InputError, KeyError, TypeError, ValueError)):
            Sample.from_json(note | damage)


def test_all_rows_in_the_order_of_their_numbers() -> None:
    shuffled = LOPSIDED.take(torch.tensor([7, 3, 99, 0]))
    assert draw_rows(shuffled, Draw(how="all")).numbers.tolist() == [100, 103, 107, 199]


def test_classes_take_turns_before_any_has_a_second_row() -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2])
    rank, rows = _turns(labels, torch.arange(9))
    assert rows.tolist() == [7, 4, 0, 8, 5, 1, 6, 2, 3], "the rarest class first, in every turn"
    assert rank.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3]
