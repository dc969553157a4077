"""A corpus encodes many texts at once exactly like each text alone."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from hammingbox.text.corpus import Corpus
from toys.texts import imdb_reviews


@given(st.lists(st.text(alphabet="abAB .'<br />!-", max_size=30), min_size=1, max_size=5), st.integers(1, 9))
def test_many_texts_at_once_are_encoded_like_each_alone(texts: list[str], length: int) -> None:
    corpus = Corpus.read(texts)
    assume(len(corpus.flat) > 0)
    words = corpus.vocabulary(8)
    together = corpus.encode(words, length)
    assert np.array_equal(together, np.stack([words.encode(text, length) for text in texts]))
    assert np.array_equal(corpus.first(1).encode(words, length), together[:1])


def test_real_reviews_are_encoded_the_same_both_ways() -> None:
    texts = [review.text for review in imdb_reviews(60)]
    corpus = Corpus.read(texts)
    words = corpus.vocabulary(2000)
    assert np.array_equal(corpus.encode(words, 64), np.stack([words.encode(text, 64) for text in texts]))
