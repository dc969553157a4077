"""Turns an adversarial row of ids back into text: the original text with the changed words replaced."""

from collections.abc import Sequence
from dataclasses import dataclass

from hammingbox.errors import InputError
from hammingbox.text.tokens import Token, join_words, replace_words, tokenise
from hammingbox.text.vocabulary import Vocabulary, head_and_tail


@dataclass(frozen=True)
class ChangedText:
    """An adversarial text.

    Attributes:
        original: the clean text.
        tokens: of the clean text.
        words: the new word of each changed token, by token number.
    """

    original: str
    tokens: tuple[Token, ...]
    words: dict[int, str]

    @property
    def text(self) -> str:
        """The adversarial text: the original with the changed words replaced."""
        return replace_words(self.original, self.tokens, self.words)

    def marked(self, mark: str = "[{old} -> {new}]") -> str:
        """The adversarial text with its changes marked."""
        return replace_words(self.original, self.tokens, self.words, mark=mark)

    @property
    def changes(self) -> list[tuple[str, str]]:
        """Pairs of old and new word, in the order of the text."""
        return [(self.tokens[number].word, self.words[number]) for number in sorted(self.words)]


def changed_text(vocabulary: Vocabulary, text: str, clean: Sequence[int], adversarial: Sequence[int]) -> ChangedText:
    """Applies the changes of an adversarial row to the text of its clean row.

    Raises:
        InputError: the clean row is not the encoding of the text.
    """
    if list(clean) != vocabulary.encode(text, len(clean)).tolist():
        raise InputError("expected the text of the clean row, got another text. Look it up by the number of the row.")
    tokens = tokenise(text)
    kept = head_and_tail(len(tokens), len(clean))
    words = {
        number: vocabulary.words[new]
        for number, old, new in zip(kept, clean, adversarial, strict=False)  # padding has no token
        if old != new
    }
    return ChangedText(text, tuple(tokens), words)


def written(words: Sequence[str]) -> str:
    """Words of a vocabulary as a person would write them, for rows whose original text is not available.

    A vocabulary has the first word of a sentence without its capital; here it has it again.
    """
    opens, found = True, []
    for word in words:
        found.append(word[:1].upper() + word[1:] if opens else word)
        opens = word in _SENTENCE_ENDS or (opens and not word[:1].isalnum())
    return join_words(found)


_SENTENCE_ENDS = frozenset({".", "!", "?"})
