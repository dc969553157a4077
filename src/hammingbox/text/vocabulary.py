"""The categories of text: words in their true case, so that a row of ids distinguishes names from nouns.

"Grace" inside a sentence and "grace" are two categories. If a capital carries no information (the first word of a
sentence, a word in ALL CAPS), the more frequent form is used. A tagger therefore needs only the ids, and so does the
verification of stored results. Ids are ranks: a smaller id means a more frequent word.
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
"""Padding after a short text; a word outside the vocabulary; such a word with a capital inside a sentence."""


@dataclass(frozen=True)
class Vocabulary:
    """Words by id: first `<pad>`, `<unknown>` and `<name>`, then all others from the most frequent to the rarest."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL)] != SPECIAL:
            raise InputError(
                f"expected a vocabulary that begins with {', '.join(SPECIAL)}, got {', '.join(self.words[:3])}. "
                "Build the data with a text loader of this package."
            )

    @classmethod
    def build(cls, counts: Mapping[tuple[str, bool], int], size: int) -> "Vocabulary":
        """The vocabulary of the most frequent words.

        Args:
            counts: how often each token occurs; the key is the token as written and whether it may open a sentence.
            size: number of categories, including the three special ones.

        Raises:
            InputError: `size` leaves no room for a word, or there are no words.
        """
        if size <= len(SPECIAL):
            raise InputError(f"expected a vocabulary of more than {len(SPECIAL)} categories, got {size}.")
        if not counts:
            raise InputError("expected texts with at least one word, got none. Check that the texts are not empty.")
        inside: dict[str, int] = {}  # counts inside sentences, where case carries information
        for (word, opens), count in counts.items():
            if not opens:
                form = normalise(word)
                inside[form] = inside.get(form, 0) + count
        total: dict[str, int] = {}
        for (word, opens), count in counts.items():
            # If two forms are equally frequent, max() returns the first, which is the lower-case form.
            form = max(possible_forms(word, opens), key=lambda f: inside.get(f, 0))
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
        """The ids of the tokens that `head_and_tail` keeps, then padding."""
        tokens = tokenise(text)
        ids = np.full(length, PAD, dtype=np.int64)
        for position, number in enumerate(head_and_tail(len(tokens), length)):
            ids[position] = self.category(tokens[number].word, opens=tokens[number].opens)
        return ids


def normalise(word: str) -> str:
    """One spelling per token: straight apostrophes, and one kind of line break."""
    return BREAK if word[0] == "<" and len(word) > 1 else word.replace("\u2019", "'")


def possible_forms(word: str, opens: bool) -> tuple[str, ...]:
    """The true-case forms a token may have; inside a sentence a word has the case it is written in."""
    word = normalise(word)
    if not word[0].isupper():
        return (word.lower(),) if word.isupper() else (word,)
    if len(word) > 1 and word.isupper():
        return (word.lower(), word, word.capitalize())
    return (word.lower(), word) if opens else (word,)


def head_and_tail(tokens: int, length: int) -> Sequence[int]:
    """The numbers of the tokens that a row of `length` features keeps.

    A long review starts with a description of the film and ends with the verdict. A quarter of the row therefore holds
    the beginning of the text, the rest its end.
    """
    if tokens <= length:
        return range(tokens)
    head = length // 4
    return [*range(head), *range(tokens - (length - head), tokens)]
