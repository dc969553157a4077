"""Lists of words that never change, and the rules of grammar."""

from hammingbox.text.grammar import NEGATIONS, STOP_WORDS, fits_article, is_doubtful_noun, takes_an


def test_lists_are_disjoint_and_lower_case() -> None:
    assert not STOP_WORDS & NEGATIONS
    assert all(word == word.lower() for word in STOP_WORDS | NEGATIONS)
    assert {"not", "n't", "no"} <= NEGATIONS
    assert {"the", "is", "'s"} <= STOP_WORDS


def test_the_article_of_a_word() -> None:
    with_an = [word for word in ("hour", "unique", "uninteresting", "horror", "amazing", "European") if takes_an(word)]
    assert with_an == ["hour", "uninteresting", "amazing"]
    assert fits_article("hour", "An")
    assert not fits_article("hour", "a")
    assert fits_article("hour", "the")


def test_a_noun_after_a_pronoun_is_doubtful() -> None:
    assert is_doubtful_noun("NN", "They")
    assert not is_doubtful_noun("NN", "the")
    assert not is_doubtful_noun("VB", "they")
