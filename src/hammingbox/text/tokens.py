"""Splits a text into tokens and puts changed words back; everything else stays byte for byte.

A token is a part of the text with its position. Only white space is between tokens, and it is never changed. An
adversarial text therefore differs from the original only in the changed words, which keep the capitals of the old ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_CLITIC = r"['\u2019](?:s|m|d|re|ve|ll)\b"
TOKEN = re.compile(
    r"[^\W\d_]++(?![\w'\u2019-])"  # plain words first: most tokens are plain words, and the other patterns are slower
    r"|(?i:<br\s*/?>)"  # a line break in a review
    r"|\d+(?:[.,:/]\d+)+"  # 3.5 and 7/10: ratings are informative
    r"|(?i:[^\W\d_]+?(?=n['\u2019]t\b)|n['\u2019]t\b|" + _CLITIC + r")"  # do + n't, film + 's, as the tagger expects
    r"|[^\W_]+(?:-[^\W_]+|(?i:(?!" + _CLITIC + r"))['\u2019][^\W_]+)*"  # words; well-made and O'Brien are one token
    r"|\.{2,}|-{2,}"
    r"|\S"
)

BREAK = "<br />"
_ENDS_SENTENCE = frozenset(
    {".", "!", "?", "...", "..", "....", ":", BREAK, '"', "\u201c", "(", "*", "--", "-", "'", "\u2018"}
)
"""After these a capital carries no information: the word may open a sentence, a title or a quotation."""


class Token(NamedTuple):
    """A part of a text.

    Attributes:
        word: as written.
        start: index of its first character.
        end: index after its last character.
        opens: whether it may open a sentence, so that its capital carries no information.
    """

    word: str
    start: int
    end: int
    opens: bool


def split_words(text: str) -> list[str]:
    """The tokens of a text as written; faster than `tokenise` if their positions do not matter."""
    return TOKEN.findall(text)


def tokenise(text: str) -> list[Token]:
    """The tokens of a text with their positions."""
    tokens: list[Token] = []
    opens = True
    for match in TOKEN.finditer(text):
        word = match.group()
        tokens.append(Token(word, match.start(), match.end(), opens))
        opens = ends_sentence(word)
    return tokens


def ends_sentence(word: str) -> bool:
    """Whether the token after this one may open a sentence."""
    return word in _ENDS_SENTENCE or word[0] == "<"


def split_sentences(words: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The parts of a text that are tagged one by one, each with the index of its first word."""
    start = 0
    for index, word in enumerate(words):
        if word in (".", "!", "?") or (ends_sentence(word) and word[0] == "<"):
            yield start, words[start : index + 1]
            start = index + 1
    if start < len(words):
        yield start, words[start:]


def match_case(word: str, like: str) -> str:
    """A word in the case of another: "superb" becomes "SUPERB" like "GREAT", "Superb" like "Great"."""
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def replace_words(text: str, tokens: Sequence[Token], words: Mapping[int, str], *, mark: str = "{new}") -> str:
    """The text with some tokens replaced.

    Args:
        text: the original.
        tokens: of that text.
        words: new words by token number; each takes the case of the old word.
        mark: the format of a changed word, with `{old}` and `{new}`, for example "[{old} -> {new}]".
    """
    parts, done = [], 0
    for number in sorted(words):
        token = tokens[number]
        parts += [text[done : token.start], mark.format(old=token.word, new=match_case(words[number], token.word))]
        done = token.end
    return "".join([*parts, text[done:]])


_NO_SPACE_BEFORE = frozenset(".,;:!?)]}%") | {"...", "n't"}
_NO_SPACE_AFTER = frozenset("([{$#")


def join_words(words: Sequence[str]) -> str:
    """A readable text made of words, for rows whose original text is not available."""
    text, quoted, attach_next = "", False, True
    for word in words:
        closing = word == '"' and quoted
        is_clitic = len(word) > 1 and word[0] in "'\u2019"
        text += word if attach_next or closing or is_clitic or word in _NO_SPACE_BEFORE else " " + word
        quoted ^= word == '"'
        attach_next = word in _NO_SPACE_AFTER or (word == '"' and quoted)
    return text
