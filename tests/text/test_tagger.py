"""The tagger: tags, the words its rules name, a missing library, and other processes."""

import pickle
import sys

import pytest

from hammingbox.errors import InputError
from hammingbox.text import tagger as module
from hammingbox.text.tagger import Tagger, default_tagger


def test_tags_of_a_sentence() -> None:
    assert default_tagger().tag(["The", "films", "looked", "awful", "."]) == ["DT", "NNS", "VBD", "JJ", "."]
    assert default_tagger().lexicon_tag("film") == "NN"
    assert default_tagger().lexicon_tag("zzzz") is None


def test_a_word_that_a_rule_names_is_known() -> None:
    assert default_tagger().is_in_a_rule("as")
    assert not default_tagger().is_in_a_rule("film")


def test_without_textblob_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    with pytest.raises(InputError, match=r"expected textblob to tag words, .*pip install 'hammingbox\[text\]'"):
        Tagger()


def test_another_process_must_have_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = pickle.dumps(default_tagger())
    assert pickle.loads(sent) is default_tagger()
    other = Tagger()
    other.name = "textblob 0.1"
    monkeypatch.setattr(module, "default_tagger", lambda: other)
    with pytest.raises(InputError, match=r"expected the tagger textblob .*, got textblob 0\.1"):
        pickle.loads(sent)


def test_a_new_process_loads_its_own_tagger() -> None:
    sent, sentence = pickle.dumps(default_tagger()), ["The", "films", "looked", "awful", "."]
    assert len(sent) < 200
    before, tags = default_tagger(), default_tagger().tag(sentence)
    default_tagger.cache_clear()
    again = pickle.loads(sent)
    assert again is not before
    assert (again.name, again.tag(sentence)) == (before.name, tags)
