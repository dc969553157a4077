"""Reads an adversarial text as a stranger would and says which promise it breaks, if any.

It knows nothing of S(x): it cuts and tags the finished text anew and compares it with the original.
"""

from collections.abc import Collection, Sequence

from hammingbox.text.grammar import FORMS, NEGATIONS, STOP_WORDS
from hammingbox.text.substitution import sentences
from hammingbox.text.tagger import Tagger
from hammingbox.text.tokens import Token, tokenise


def audit(original: str, adversarial: str, tagger: Tagger, *, protected: Collection[str] = ()) -> list[str]:
    """What is wrong with an adversarial text: one line a broken promise, none for a good one.

    Checked for every changed word: it is no stop word, negation, protected word or name, and neither is the new one;
    the tagger gives both the same part of speech and grammatical form, each in its own text.
    """
    before, after = tokenise(original), tokenise(adversarial)
    if len(before) != len(after):
        return [f"{len(before)} tokens became {len(after)}"]
    kept = {word.lower() for word in protected}
    tags = _tags(before, tagger), _tags(after, tagger)
    wrong = []
    for old, new, old_tag, new_tag in zip(before, after, *tags, strict=True):
        if old.word == new.word:
            continue
        change = f"{old.word} -> {new.word}"
        if old.word.lower() in kept:
            wrong.append(f"{change}: a protected word")
        if {old.word.lower(), new.word.lower()} & (STOP_WORDS | NEGATIONS):
            wrong.append(f"{change}: a stop word or negation")
        if old_tag not in FORMS:
            wrong.append(f"{change}: a name or a word of no open class ({old_tag})")
        if old_tag != new_tag:
            wrong.append(f"{change}: {old_tag} became {new_tag}")
    return wrong


def _tags(tokens: Sequence[Token], tagger: Tagger) -> list[str]:
    """Tags of a text; capitals that say nothing (a first word, a SHOUTED one) are read as small letters."""
    words = [t.word.lower() if t.opens or (len(t.word) > 1 and t.word.isupper()) else t.word for t in tokens]
    return [tag for _, sentence in sentences(words) for tag in tagger.tag(sentence)]
