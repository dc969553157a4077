"""A text comes back byte for byte, and only the words that were changed differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.text.tokens import join_words, match_case, replace_words, split_sentences, split_words, tokenise
from toys.texts import imdb_reviews


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    tokens = tokenise(text)
    assert [token.word for token in tokens] == split_words(text)
    rebuilt, done = "", 0
    for token in tokens:
        assert text[token.start : token.end] == token.word
        assert not text[done : token.start].strip(), "only white space is between tokens"
        rebuilt, done = rebuilt + text[done : token.start] + token.word, token.end
    assert rebuilt + text[done:] == text


def test_real_reviews_come_back() -> None:
    for review in imdb_reviews(120):
        tokens = tokenise(review.text)
        same = {i: token.word for i, token in enumerate(tokens)}
        assert replace_words(review.text, tokens, same) == review.text
        assert "<br />" not in review.text or any(token.word == "<br />" for token in tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't like O'Brien's well-made film.", "I|do|n't|like|O'Brien|'s|well-made|film|."),
        ("ISN'T it? 7/10<br /><br/>It\u2019s 3.5...", "IS|N'T|it|?|7/10|<br />|<br/>|It|\u2019s|3.5|..."),
        ('"Great," he said -- twice!', '"|Great|,|"|he|said|--|twice|!'),
        ("snake_case rock'n'roll 1970's", "snake|_|case|rock'n'roll|1970|'s"),
    ],
)
def test_tokens(text: str, words: str) -> None:
    assert split_words(text) == words.split("|")


def test_first_words_are_known() -> None:
    opening = [token.word for token in tokenise('Bad. "Good" films by Grace<br />End') if token.opens]
    assert opening == ["Bad", '"', "Good", "films", "End"]


def test_replacements_keep_capitals_and_everything_else() -> None:
    text = "  GREAT film!<br />Great, great\tfilm..."
    tokens = tokenise(text)
    changed = {i: "superb" for i, token in enumerate(tokens) if token.word.lower() == "great"}
    assert replace_words(text, tokens, changed) == "  SUPERB film!<br />Superb, superb\tfilm..."
    marked = replace_words(text, tokens, {0: "superb"}, mark="[{old} -> {new}]")
    assert marked == "  [GREAT -> SUPERB] film!<br />Great, great\tfilm..."
    assert match_case("superb", "I") == "Superb"


def test_joined_words_make_a_readable_text() -> None:
    text = "He said \"great film\" (really), isn't it? It's $5."
    assert join_words(split_words(text)) == text


def test_sentences_end_after_marks_and_line_breaks() -> None:
    words = 'One . Two ! Three <br /> four , : " five'.replace("<br />", "<br/>").split()
    parts = [(start, " ".join(sentence)) for start, sentence in split_sentences(words)]
    assert parts == [(0, "One ."), (2, "Two !"), (4, "Three <br/>"), (6, 'four , : " five')]
