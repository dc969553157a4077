"""Words in their true case: a name is not a noun, and a capital that says nothing is ignored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.errors import InputError
from hammingbox.text.corpus import Corpus
from hammingbox.text.render import changed_text
from hammingbox.text.vocabulary import NAME, PAD, UNKNOWN, Vocabulary, head_and_tail
from texts import imdb_reviews

TEXTS = [
    "With grace , Grace met Paul . Grace smiled with grace and grace .",
    "The DVD is AWFUL . An awful , awful DVD by Paul .",
    "Awful ! Grace is not on DVD .",
]


def vocabulary_of(texts: list[str], size: int = 100) -> Vocabulary:
    return Corpus.read(texts).vocabulary(size)


def test_case_is_kept_where_it_says_something() -> None:
    words = vocabulary_of(TEXTS)
    assert {"grace", "Grace", "Paul", "DVD", "awful"} <= set(words.words)
    assert not {"paul", "AWFUL", "Awful", "dvd"} & set(words.words)
    encoded = [words.words[i] for i in words.encode("Awful PAUL saw Grace with Zoe and zoe", 8)]
    assert encoded == ["awful", "Paul", "<unknown>", "Grace", "with", "<name>", "and", "<unknown>"]


def test_the_most_frequent_come_first_and_the_size_holds() -> None:
    words = vocabulary_of(TEXTS, 6).words
    assert words == ("<pad>", "<unknown>", "<name>", ".", "grace", "awful"), "Awful, AWFUL and awful are one word"
    assert vocabulary_of(TEXTS, 5).category("awful", opens=False) == UNKNOWN
    assert vocabulary_of(TEXTS, 5).category("Paul", opens=False) == NAME


@given(st.lists(st.text(alphabet="abAB .'<br />!-", max_size=30), min_size=1, max_size=5), st.integers(1, 9))
def test_many_texts_at_once_are_encoded_as_each_alone(texts: list[str], length: int) -> None:
    corpus = Corpus.read(texts)
    if len(corpus.flat) == 0:
        return
    words = corpus.vocabulary(8)
    together = corpus.encode(words, length)
    assert np.array_equal(together, np.stack([words.encode(text, length) for text in texts]))
    assert np.array_equal(corpus.first(1).encode(words, length), together[:1])


def test_real_reviews_are_encoded_alike_both_ways() -> None:
    texts = [review.text for review in imdb_reviews(60)]
    corpus = Corpus.read(texts)
    words = corpus.vocabulary(2000)
    assert np.array_equal(corpus.encode(words, 64), np.stack([words.encode(text, 64) for text in texts]))


def test_long_texts_keep_their_beginning_and_their_end() -> None:
    assert list(head_and_tail(5, 8)) == [0, 1, 2, 3, 4]
    assert list(head_and_tail(20, 8)) == [0, 1, 14, 15, 16, 17, 18, 19]


def test_a_changed_row_becomes_the_text_with_the_word_changed() -> None:
    text = "Grace was   AWFUL...<br />Truly awful film, one two three four five six seven, awful!"
    words = vocabulary_of([text, "bad film bad film ."])
    clean = words.encode(text, 12)
    changed = clean.copy()
    places = np.flatnonzero(clean == words.index["awful"])
    changed[places] = words.index["bad"]
    result = changed_text(words, text, clean.tolist(), changed.tolist())
    assert len(places) == 2, "the one in the middle was cut out of the row"
    assert result.text == "Grace was   BAD...<br />Truly awful film, one two three four five six seven, bad!"
    assert result.changes == [("AWFUL", "bad"), ("awful", "bad")]
    assert "[AWFUL -> BAD]" in result.marked()
    with pytest.raises(InputError, match="expected the text that the clean row was made from"):
        changed_text(words, text + " more", clean.tolist(), changed.tolist())


def test_bad_vocabularies_are_refused() -> None:
    with pytest.raises(InputError, match="more than 3 categories"):
        vocabulary_of(TEXTS, 3)
    with pytest.raises(InputError, match="at least one word"):
        vocabulary_of([" "], 9)
    with pytest.raises(InputError, match="begins with <pad>"):
        Vocabulary(("a", "b", "c", "d"))
    assert vocabulary_of(TEXTS).encode("", 3).tolist() == [PAD] * 3
