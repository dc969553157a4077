"""An adversarial row becomes the original text with the changed words replaced."""

import numpy as np
import pytest

from hammingbox.errors import InputError
from hammingbox.text.corpus import Corpus
from hammingbox.text.render import changed_text


def test_a_changed_row_becomes_the_text_with_the_words_replaced() -> None:
    text = "Grace was   AWFUL...<br />Truly awful film, one two three four five six seven, awful!"
    words = Corpus.read([text, "bad film bad film ."]).vocabulary(100)
    clean = words.encode(text, 12)
    changed = clean.copy()
    places = np.flatnonzero(clean == words.index["awful"])
    changed[places] = words.index["bad"]
    result = changed_text(words, text, clean.tolist(), changed.tolist())
    assert len(places) == 2, "the row does not keep the one in the middle"
    assert result.text == "Grace was   BAD...<br />Truly awful film, one two three four five six seven, bad!"
    assert result.changes == [("AWFUL", "bad"), ("awful", "bad")]
    assert "[AWFUL -> BAD]" in result.marked()
    with pytest.raises(InputError, match="expected the text of the clean row, got another"):
        changed_text(words, text + " more", clean.tolist(), changed.tolist())
