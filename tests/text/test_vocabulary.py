"""Vocabularies keep words in their true case and ignore capitals that carry no information."""

import pickle

import pytest

from hammingbox.errors import InputError
from hammingbox.text.corpus import Corpus
from hammingbox.text.vocabulary import NAME, PAD, UNKNOWN, Vocabulary, head_and_tail

TEXTS = [
    "With grace , Grace met Paul . Grace smiled with grace and grace .",
    "The DVD is AWFUL . An awful , awful DVD by Paul .",
    "Awful ! Grace is not on DVD .",
]


def vocabulary_of(texts: list[str], size: int = 100) -> Vocabulary:
    return Corpus.read(texts).vocabulary(size)


def test_case_is_kept_where_it_carries_information() -> None:
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


def test_long_texts_keep_their_beginning_and_their_end() -> None:
    assert list(head_and_tail(5, 8)) == [0, 1, 2, 3, 4]
    assert list(head_and_tail(20, 8)) == [0, 1, 14, 15, 16, 17, 18, 19]


def test_bad_vocabularies_are_refused() -> None:
    with pytest.raises(InputError, match="more than 3 categories"):
        vocabulary_of(TEXTS, 3)
    with pytest.raises(InputError, match="at least one word"):
        vocabulary_of([" "], 9)
    with pytest.raises(InputError, match="begins with <pad>"):
        Vocabulary(("a", "b", "c", "d"))
    assert vocabulary_of(TEXTS).encode("", 3).tolist() == [PAD] * 3


def test_a_vocabulary_can_be_sent_to_another_process() -> None:
    words = vocabulary_of(TEXTS)
    for again in (pickle.loads(pickle.dumps(words)), (words.index, pickle.loads(pickle.dumps(words)))[1]):
        assert again == words
        assert again.encode(TEXTS[0], 20).tolist() == words.encode(TEXTS[0], 20).tolist()
