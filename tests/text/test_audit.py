"""The audit catches every broken promise about changed words."""

import pytest

from hammingbox.text.audit import audit
from hammingbox.text.substitution import Substitution
from hammingbox.text.synonyms import wordnet_table
from hammingbox.text.tagger import default_tagger
from hammingbox.text.tokens import replace_words, tokenise
from toys.texts import imdb_reviews


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


def test_real_reviews_pass_the_audit_with_every_word_replaced() -> None:
    rules = Substitution(wordnet_table(), default_tagger())
    replaced = 0
    for review in imdb_reviews(20):
        tokens = tokenise(review.text)
        words = [t.word.lower() if t.opens or t.word.isupper() else t.word for t in tokens]
        new = {index: found[-1] for index, found in rules.replacements(words) if not tokens[index].opens}
        replaced += len(new)
        assert audit(review.text, replace_words(review.text, tokens, new), default_tagger()) == []
    assert replaced > 200
