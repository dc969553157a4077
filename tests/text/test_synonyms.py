"""Words change to synonyms of the same part of speech and form; some words never change."""

import gzip
import json
from pathlib import Path

import pytest

from hammingbox.errors import FileError, InputError
from hammingbox.text.audit import audit
from hammingbox.text.grammar import FORMS, NEGATIONS, STOP_WORDS, takes_an
from hammingbox.text.substitution import Substitution
from hammingbox.text.synonyms import SynonymTable, read_neighbours, wordnet_table
from hammingbox.text.tagger import Tagger, default_tagger
from hammingbox.text.tokens import replace_words, tokenise
from texts import imdb_reviews

RULES = Substitution(wordnet_table(), default_tagger())


def offered(text: str, rules: Substitution = RULES) -> dict[str, tuple[str, ...]]:
    words = text.split()
    return {words[place]: found for place, found in rules.replacements(words)}


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


def test_the_table_holds_no_form_twice_and_no_word_for_itself() -> None:
    for (tag, word), synonyms in wordnet_table().forms.items():
        assert tag in FORMS
        assert word not in synonyms
        assert len(set(synonyms)) == len(synonyms)


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
    text = f"I think {word} film"
    assert word not in offered(text)


def test_protected_words_are_never_changed_in_any_case() -> None:
    rules = Substitution(wordnet_table(), default_tagger(), protected=frozenset({"film"}))
    assert "film" in offered("I saw that awful film .")
    assert set(offered("I saw that awful film .", rules)) == set(offered("I saw that awful film .")) - {"film"}
    assert rules.kept("Film") == "a protected word"


def test_a_name_stays_and_so_does_a_first_word_that_may_be_one() -> None:
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
    assert all(not takes_an(word) for word in offered("It was a terrible film .")["terrible"])
    assert all(takes_an(word) for word in offered("It was an awful film .").get("awful", ()))
    assert [takes_an(word) for word in ("hour", "unique", "uninteresting", "horror", "amazing", "European")] == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]


def test_at_most_so_many_and_the_nearest_first() -> None:
    few = Substitution(wordnet_table(), default_tagger(), most=2)
    assert few.synonyms("JJ", "awful") == RULES.synonyms("JJ", "awful")[:2]
    assert any("beyond the nearest 2" in why for why in few.explain("awful").uses[0].refused.values())
    with pytest.raises(InputError, match="at least 1 synonym"):
        Substitution(wordnet_table(), default_tagger(), most=0)


def test_no_combination_of_exchanges_changes_a_tag_on_real_reviews() -> None:
    """The claim behind the space: exchanging every word that may change, at once, leaves all tags as they were."""
    tagger, exchanged = default_tagger(), 0
    for review in imdb_reviews(25):
        words = [t.word.lower() if t.opens else t.word for t in tokenise(review.text)][:200]
        for start in (0, 1, -1):  # the first, the second, the last of the synonyms
            new = list(words)
            for place, found in RULES.replacements(words):
                new[place] = found[min(start, len(found) - 1)]
                exchanged += 1
            assert sentence_tags(tagger, new) == sentence_tags(tagger, words)
    assert exchanged > 500


def sentence_tags(tagger: Tagger, words: list[str]) -> list[str]:
    from hammingbox.text.substitution import sentences

    return [tag for _, sentence in sentences(words) for tag in tagger.tag(sentence)]


@pytest.mark.parametrize(
    ("adversarial", "promise"),
    [
        ("I saw that dreadful film with Grace, not the play.", None),
        ("I saw this awful film with Grace, not the play.", "stop word"),
        ("I saw that awful film with Grace, never the play.", "negation"),
        ("I saw that awful film with Paul, not the play.", "name"),
        ("I saw that awful films with Grace, not the play.", "NN became NNS"),
        ("I saw that awful movie with Grace, not the play.", "protected"),
        ("I saw that quite awful film with Grace, not the play.", "tokens became"),
    ],
)
def test_the_audit_catches_each_broken_promise(adversarial: str, promise: str | None) -> None:
    original = "I saw that awful film with Grace, not the play."
    wrong = audit(original, adversarial, default_tagger(), protected=["Film"])
    assert (not wrong) if promise is None else any(promise in line for line in wrong)


def test_real_reviews_pass_the_audit_with_every_word_exchanged() -> None:
    tagger = default_tagger()
    for review in imdb_reviews(20):
        tokens = tokenise(review.text)
        words = [t.word.lower() if t.opens or t.word.isupper() else t.word for t in tokens]
        new = {place: found[-1] for place, found in RULES.replacements(words) if not tokens[place].opens}
        assert audit(review.text, replace_words(review.text, tokens, new), tagger) == []


def test_lists_are_disjoint_and_lower_case() -> None:
    assert not STOP_WORDS & NEGATIONS
    assert all(word == word.lower() for word in STOP_WORDS | NEGATIONS)
    assert {"not", "n't", "no"} <= NEGATIONS
    assert {"the", "is", "'s"} <= STOP_WORDS


def test_neighbours_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "neighbours.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"film": ["movie", "films"]}).encode()))
    table = read_neighbours(path)
    assert table.lookup("NN", "film") == ("movie", "films")
    assert Substitution(table, default_tagger()).synonyms("NN", "film") == ("movie",)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileError, match="whole gzip file"):
        read_neighbours(path)
    for content, message in (("{", "expected JSON"), ('{"film": "movie"}', "lists of words"), ("[]", "lists of words")):
        plain = tmp_path / "plain.json"
        plain.write_text(content)
        with pytest.raises(FileError, match=message):
            read_neighbours(plain)
    with pytest.raises(FileError, match="readable file"):
        read_neighbours(tmp_path / "missing.json")
