"""The categories of text: words in their true case, so that a row of ids still tells a name from a noun.

"Grace" inside a sentence and "grace" are two categories. Where a capital says nothing (the first word of a sentence,
a word SHOUTED) the more frequent form is taken. A tagger can therefore work from ids alone, and so can a check of
stored results. An id is a rank: smaller means more frequent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from hammingbox.errors import InputError
from hammingbox.text.tokens import BREAK, tokenise

PAD, UNKNOWN, NAME = 0, 1, 2
SPECIAL = ("<pad>", "<unknown>", "<name>")
"""Filling after a short text; a word outside the vocabulary; one with a capital inside a sentence."""


@dataclass(frozen=True)
class Vocabulary:
    """Words by id. The first three are `<pad>`, `<unknown>` and `<name>`, then the most frequent word comes first."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL)] != SPECIAL:
            raise InputError(
                f"expected a vocabulary that begins with {', '.join(SPECIAL)}, got {', '.join(self.words[:3])}. "
                "Build the data with a text loader of this package."
            )

    @classmethod
    def build(cls, counts: Mapping[tuple[str, bool], int], size: int) -> "Vocabulary":
        """The most frequent words.

        Args:
            counts: how often each token, as written, occurs; the flag says that it may open a sentence.
            size: number of categories, the three special ones included.

        Raises:
            InputError: no room for a word, or no word to put there.
        """
        if size <= len(SPECIAL):
            raise InputError(f"expected a vocabulary of more than {len(SPECIAL)} categories, got {size}.")
        if not counts:
            raise InputError("expected texts with at least one word, got none. Check that the texts are not empty.")
        written: dict[str, int] = {}
        for (word, opens), count in counts.items():
            if not opens:
                form = normalise(word)
                written[form] = written.get(form, 0) + count
        total: dict[str, int] = {}
        for (word, opens), count in counts.items():
            # max() keeps the first of equals: the lower-case form.
            form = max(possible_forms(word, opens), key=lambda f: written.get(f, 0))
            total[form] = total.get(form, 0) + count
        ranked = sorted(total, key=lambda form: (-total[form], form))
        return cls(SPECIAL + tuple(ranked[: size - len(SPECIAL)]))

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def category(self, word: str, *, opens: bool) -> int:
        """The id of a token as written."""
        forms = possible_forms(word, opens)
        known = [self.index[form] for form in forms if form in self.index]
        if known:
            return min(known)
        return NAME if len(forms) == 1 and word[0].isupper() else UNKNOWN

    def encode(self, text: str, length: int) -> Int64[np.ndarray, "features"]:
        """The ids of a text: what `head_and_tail` keeps of it, then padding."""
        tokens = tokenise(text)
        ids = np.full(length, PAD, dtype=np.int64)
        for place, number in enumerate(head_and_tail(len(tokens), length)):
            ids[place] = self.category(tokens[number].word, opens=tokens[number].opens)
        return ids


def normalise(word: str) -> str:
    """One spelling for the same token: straight apostrophes, one kind of line break."""
    return BREAK if word[0] == "<" and len(word) > 1 else word.replace("\u2019", "'")


def possible_forms(word: str, opens: bool) -> tuple[str, ...]:
    """The true-case forms a token may stand for; the case of a word inside a sentence is taken as it is."""
    word = normalise(word)
    if not word[0].isupper():
        return (word.lower(),) if word.isupper() else (word,)
    if len(word) > 1 and word.isupper():
        return (word.lower(), word, word.capitalize())
    return (word.lower(), word) if opens else (word,)


def head_and_tail(tokens: int, length: int) -> Sequence[int]:
    """The numbers of the tokens that a row of `length` features keeps.

    A long review opens with what the film is and closes with the verdict: a quarter of the row holds the beginning,
    the rest the end.
    """
    if tokens <= length:
        return range(tokens)
    head = length // 4
    return [*range(head), *range(tokens - (length - head), tokens)]
