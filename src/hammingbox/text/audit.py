"""Checks an adversarial text independently: which promises about the changed words does it break?

It does not use S(x). It tokenises and tags the finished text again and compares it with the original.
"""

from collections.abc import Collection, Sequence

from hammingbox.text.grammar import FORMS, NEGATIONS, STOP_WORDS
from hammingbox.text.tagger import Tagger
from hammingbox.text.tokens import Token, split_sentences, tokenise


def audit(original: str, adversarial: str, tagger: Tagger, *, protected: Collection[str] = ()) -> list[str]:
    """The problems of an adversarial text: one line per broken promise, an empty list if there is none.

    For each changed word it checks that neither the old nor the new word is a stop word or negation, that the old word
    is not protected and not a name, and that the tagger gives both the same part of speech and grammatical form, each
    in its own text.

    Args:
        original: the clean text.
        adversarial: the changed text.
        tagger: tags both texts.
        protected: words that must not change, in any case.
    """
    before, after = tokenise(original), tokenise(adversarial)
    if len(before) != len(after):
        return [f"{len(before)} tokens became {len(after)}"]
    unchangeable = {word.lower() for word in protected}
    tags = _tags(before, tagger), _tags(after, tagger)
    problems = []
    for old, new, old_tag, new_tag in zip(before, after, *tags, strict=True):
        if old.word == new.word:
            continue
        change = f"{old.word} -> {new.word}"
        if old.word.lower() in unchangeable:
            problems.append(f"{change}: a protected word")
        if {old.word.lower(), new.word.lower()} & (STOP_WORDS | NEGATIONS):
            problems.append(f"{change}: a stop word or negation")
        if old_tag not in FORMS:
            problems.append(f"{change}: a name or a function word ({old_tag})")
        if old_tag != new_tag:
            problems.append(f"{change}: {old_tag} became {new_tag}")
    return problems


def _tags(tokens: Sequence[Token], tagger: Tagger) -> list[str]:
    """The tags of a text. Words whose capitals carry no information (first words, ALL CAPS) are read in lower case."""
    words = [t.word.lower() if t.opens or (len(t.word) > 1 and t.word.isupper()) else t.word for t in tokens]
    return [tag for _, sentence in split_sentences(words) for tag in tagger.tag(sentence)]
