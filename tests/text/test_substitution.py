"""Words change only to synonyms of the same part of speech and form; some words never change."""

import pickle

import pytest

from hammingbox.errors import InputError
from hammingbox.text.grammar import takes_an
from hammingbox.text.substitution import Substitution
from hammingbox.text.synonyms import SynonymTable, wordnet_table
from hammingbox.text.tagger import Tagger, default_tagger
from hammingbox.text.tokens import split_sentences, tokenise
from toys.texts import imdb_reviews

RULES = Substitution(wordnet_table(), default_tagger())


def offered(text: str, rules: Substitution = RULES) -> dict[str, tuple[str, ...]]:
    words = text.split()
    return {words[index]: found for index, found in rules.replacements(words)}


@pytest.mark.parametrize(
    ("tag", "word", "synonym"),
    [
        ("NN", "film", "movie"),
        ("NNS", "films", "movies"),
        ("VBZ", "looks", "seems"),
        ("VBD", "looked", "appeared"),
        ("VBN", "chosen", "selected"),
        ("VBG", "helping", "aiding"),
        ("JJ", "awful", "terrible"),
        ("JJR", "bigger", "larger"),
        ("JJS", "biggest", "largest"),
        ("RB", "really", "truly"),
    ],
)
def test_synonyms_have_the_form_of_the_word(tag: str, word: str, synonym: str) -> None:
    assert synonym in wordnet_table().lookup(tag, word)
    assert synonym in RULES.synonyms(tag, word)


def test_a_form_that_differs_is_refused() -> None:
    table = SynonymTable("own", "", {}, {"film": ("movies", "movie", "filmed", "the", "zzzz", "film")})
    rules = Substitution(table, default_tagger())
    assert rules.synonyms("NN", "film") == ("movie",)
    why = rules.explain("film").uses[0].refused
    assert why["movies"] == "another form: the tagger reads it as noun, plural, 'film' as noun, singular"
    assert "stop word" in why["the"]
    assert "lexicon" in why["zzzz"]


def test_tense_number_and_degree_survive_in_a_sentence() -> None:
    text = "The films looked awful and the bigger actors really enjoyed that awful film ."
    found = offered(text)
    assert {"films", "looked", "awful", "enjoyed", "film"} <= set(found)
    assert "movies" in found["films"]
    assert "movie" in found["film"]
    assert set(found["looked"]) <= {"appeared", "seemed"}


@pytest.mark.parametrize(
    "word", ["the", "not", "n't", "never", "who", "very", "was", "could", "Grace", "7/10", "<br />"]
)
def test_words_that_never_change(word: str) -> None:
    assert RULES.kept(word) is not None
    assert RULES.kept("film") is None
    changed = {index for index, _ in RULES.replacements(["I", "saw", "a", word, "film", "with", "actors"])}
    assert 3 not in changed
    assert 6 in changed


def test_protected_words_are_never_changed_in_any_case() -> None:
    rules = Substitution(wordnet_table(), default_tagger(), protected=frozenset({"film"}))
    assert "film" in offered("I saw that awful film .")
    assert set(offered("I saw that awful film .", rules)) == set(offered("I saw that awful film .")) - {"film"}
    assert rules.kept("Film") == "a protected word"


def test_names_and_first_words_that_may_be_names_never_change() -> None:
    assert "Grace" not in offered("We met Grace in town .")
    known = {"film", "Film", "movie", "awful", "terrible"}
    assert 0 in dict(RULES.replacements(["film", "is", "fun", "."]))
    careful = Substitution(wordnet_table(), default_tagger(), vocabulary=known)
    assert 0 not in dict(careful.replacements(["film", "is", "fun", "."]))
    assert 1 in dict(careful.replacements(["the", "film", "is", "fun", "."]))


def test_only_words_of_the_vocabulary_are_written() -> None:
    rules = Substitution(wordnet_table(), default_tagger(), vocabulary={"terrible"})
    assert rules.synonyms("JJ", "awful") == ("terrible",)
    assert rules.explain("awful").uses[0].refused["dreadful"] == "not in the vocabulary"


def test_the_article_still_fits() -> None:
    for sentence, word, needs_an in (("It was a big film .", "big", False), ("It was an awful film .", "awful", True)):
        found = offered(sentence)[word]
        assert found
        assert all(takes_an(synonym) == needs_an for synonym in found)
        assert any(takes_an(synonym) != needs_an for synonym in RULES.synonyms("JJ", word)), "some were left out"


def test_only_the_nearest_synonyms_are_offered() -> None:
    few = Substitution(wordnet_table(), default_tagger(), most=2)
    assert few.synonyms("JJ", "awful") == RULES.synonyms("JJ", "awful")[:2]
    assert any("beyond the nearest 2" in why for why in few.explain("awful").uses[0].refused.values())
    with pytest.raises(InputError, match="at least 1 synonym"):
        Substitution(wordnet_table(), default_tagger(), most=0)


def test_no_combination_of_replacements_changes_a_tag_on_real_reviews() -> None:
    """The claim behind the space: replacing all words that may change at once leaves every tag unchanged."""
    tagger, replaced = default_tagger(), 0
    for review in imdb_reviews(25):
        words = [t.word.lower() if t.opens else t.word for t in tokenise(review.text)][:200]
        for choice in (0, 1, -1):  # the first, the second, the last of the synonyms
            new = list(words)
            for index, found in RULES.replacements(words):
                new[index] = found[min(choice, len(found) - 1)]
                replaced += 1
            assert sentence_tags(tagger, new) == sentence_tags(tagger, words)
    assert replaced > 500


def sentence_tags(tagger: Tagger, words: list[str]) -> list[str]:
    return [tag for _, sentence in split_sentences(words) for tag in tagger.tag(sentence)]


def test_rules_can_be_sent_to_another_process() -> None:
    rules = Substitution(wordnet_table(), default_tagger(), frozenset({"actors"}), {"film": 3, "movie": 4}, most=2)
    sent = pickle.dumps(rules)
    words = ["The", "film", "and", "the", "actors", "."]
    found = list(rules.replacements(words))
    assert found == [(1, ("movie",))]
    assert len(pickle.dumps(rules)) == len(sent), "without the synonyms that were looked up"
    again = pickle.loads(sent)
    assert list(again.replacements(words)) == found
    assert (again.table, again.tagger, again.protected, again.most) == (rules.table, rules.tagger, rules.protected, 2)
