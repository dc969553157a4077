"""Labelled texts become rows: split without overlap, encoded with a vocabulary of the training texts."""

import pytest
import torch

from hammingbox.data import imdb
from hammingbox.data.texts import Labelled, from_arrays, text_splits, to_arrays, vocabulary_of
from hammingbox.errors import InputError
from toys import toy_schema
from toys.texts import small_reviews, small_splits

REVIEWS = small_reviews(80)
TRAIN, TEST = REVIEWS[:48], REVIEWS[48:]


def test_rows_encode_the_texts_their_numbers_name() -> None:
    splits = text_splits(TRAIN, TEST, imdb.CLASSES, length=16, size=100)
    vocabulary = vocabulary_of(splits.schema)
    for part, source in ((splits.train, TRAIN), (splits.validation, TRAIN), (splits.test, TEST)):
        for row, label, number in zip(part.ids.tolist(), part.labels.tolist(), part.numbers.tolist(), strict=True):
            assert row == vocabulary.encode(source[number].text, 16).tolist()
            assert label == source[number].label
    assert sorted(splits.train.numbers.tolist() + splits.validation.numbers.tolist()) == list(range(48))
    assert len(splits.validation) == 4, "a tenth of the training texts"


def test_the_vocabulary_does_not_see_test_texts() -> None:
    splits = text_splits(TRAIN, [*TEST, Labelled("a word that only the test has: zebra", 0)], imdb.CLASSES)
    assert "zebra" not in vocabulary_of(splits.schema).index
    assert "film" in vocabulary_of(splits.schema).index


def test_a_text_in_both_parts_is_only_tested_on() -> None:
    splits = text_splits([*TRAIN, TEST[0]], TEST, imdb.CLASSES)
    assert 48 not in splits.train.numbers.tolist() + splits.validation.numbers.tolist()
    assert len(splits.test) == len(TEST)


def test_arrays_for_the_cache_are_inverse() -> None:
    splits = small_splits()
    again = from_arrays(to_arrays(splits))
    for part in ("train", "validation", "test"):
        one, other = getattr(splits, part), getattr(again, part)
        assert (one.digest, one.name) == (other.digest, other.name)
        assert torch.equal(one.numbers, other.numbers)


def test_texts_that_cannot_be_split_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2 distinct training texts"):
        text_splits([REVIEWS[0], REVIEWS[1]], [REVIEWS[0]], imdb.CLASSES)
    with pytest.raises(InputError, match="expected training and test texts, got 0 and 32"):
        text_splits([], TEST, imdb.CLASSES)
    with pytest.raises(InputError, match="at least 1 token"):
        text_splits(TRAIN, TEST, imdb.CLASSES, length=0)
    with pytest.raises(InputError, match=r"labels 0\.\.1 \(negative, positive\), got 2"):
        text_splits([*TRAIN, Labelled("good", 2)], TEST, imdb.CLASSES)


def test_only_a_text_schema_has_a_vocabulary() -> None:
    with pytest.raises(InputError, match="schema of text"):
        vocabulary_of(toy_schema((3, 2)))
    with pytest.raises(InputError, match="begins with <pad>"):
        vocabulary_of(toy_schema((5, 5)))
