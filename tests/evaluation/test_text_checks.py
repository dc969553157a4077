"""Texts that are written from rows of words: are they read as the same words again?"""

from collections.abc import Sequence

import numpy as np
import pytest

import hammingbox as hb
from hammingbox import Finding, Labelled, Splits, text_splits
from hammingbox.data.reading import Reading
from hammingbox.data.schema import Schema
from hammingbox.data.text_table import load_text_table
from hammingbox.evaluation.diagnose.text_checks import diagnose_spelling

PLAIN = ["A fine film.", "A dull film, sadly.", "We liked it!", "Nobody liked this.", "It is a film (and a book)."]


def splits_of(texts: Sequence[str], size: int = 500) -> Splits:
    labelled = [Labelled(text, place % 2) for place, text in enumerate(texts)]
    return text_splits(labelled, labelled[:2], ["bad", "good"], length=16, size=size, words_of_all=True)


def found(texts: Sequence[str], size: int = 500) -> list[Finding]:
    """What is found on all texts, for a function of texts."""
    data = splits_of([*texts, "The first one.", "The second one."], size).whole()
    model = hb.victim(lambda texts: np.tile([0.4, 0.6], (len(texts), 1)), data.schema, name="constant")
    return [one for one in hb.diagnose_victim(model, data, _threat(data.schema)) if one.check == "spelling of texts"]


def _threat(schema: Schema) -> hb.ThreatModel:
    return hb.ThreatModel(hb.FullSpace(schema), 0)


def test_texts_that_come_back_are_no_finding() -> None:
    assert found(PLAIN) == []


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ("a film . . bad", "'. .' as '..'"),  # points that a writer does not divide
        ("It is g. g liked it.", "'g' as 'G'"),  # the capital of a sentence is that of a name
    ],
)
def test_other_capitals_and_divisions_are_said(odd: str, said: str) -> None:
    (finding,) = found([*PLAIN, odd, "Do you know G now? Ask G again, or G alone."])
    assert said in finding.seen
    assert "1 of 9 texts" in finding.seen
    assert "vocabulary" not in finding.seen


def test_words_outside_the_vocabulary_are_counted() -> None:
    (finding,) = found(PLAIN, size=12)
    assert "words are not in the vocabulary and are left out" in finding.seen
    assert finding.severity == "warning", "most words are unknown"
    assert "--text-unit characters" in finding.remedy


def test_one_word_in_many_is_a_note() -> None:
    (finding,) = found([*(f"{text} {number}" for number, text in enumerate(PLAIN * 4)), "a film . . bad"])
    assert finding.severity == "note"


def test_models_of_ids_and_rows_of_characters_have_no_spelling() -> None:
    data = splits_of([*PLAIN, "a film . . bad", "The end.", "The start."]).whole()
    assert diagnose_spelling(hb.build("word_cnn", data.schema), data) == []
    texts = [f"{text} {number}" for number, text in enumerate([*PLAIN, "a film . . bad"] * 4)]
    reviews = {"text": texts, "mood": ["bad", "good"] * 12}
    letters = load_text_table(reviews, label="mood", reading=Reading(text="text", unit="characters")).whole()
    model = hb.victim(lambda texts: np.tile([0.4, 0.6], (len(texts), 1)), letters.schema, name="constant")
    assert model.reads_text
    assert diagnose_spelling(model, letters) == []
