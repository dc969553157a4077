"""Cuts a text into tokens and puts changed words back: all that was not changed stays byte for byte.

A token is a piece of the text with its place in it. Whatever lies between tokens is white space and is never touched,
so an adversarial text reads as the original but for the changed words, capitals included.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_CLITIC = r"['\u2019](?:s|m|d|re|ve|ll)\b"
TOKEN = re.compile(
    r"[^\W\d_]++(?![\w'\u2019-])"  # plain words first: most tokens are, and the rest of the pattern is slower
    r"|(?i:<br\s*/?>)"  # a line break in the reviews
    r"|\d+(?:[.,:/]\d+)+"  # 3.5 and 7/10: marks out of ten say much about a review
    r"|(?i:[^\W\d_]+?(?=n['\u2019]t\b)|n['\u2019]t\b|" + _CLITIC + r")"  # do + n't, film + 's, as the tagger expects
    r"|[^\W_]+(?:-[^\W_]+|(?i:(?!" + _CLITIC + r"))['\u2019][^\W_]+)*"  # words; hyphens and O'Brien stay whole
    r"|\.{2,}|-{2,}"
    r"|\S"
)

BREAK = "<br />"
_ENDS_SENTENCE = frozenset(
    {".", "!", "?", "...", "..", "....", ":", BREAK, '"', "\u201c", "(", "*", "--", "-", "'", "\u2018"}
)
"""After these a capital says nothing: the word may open a sentence, a title or a quotation."""


class Token(NamedTuple):
    """A piece of a text.

    Attributes:
        word: as written.
        start: place of its first character.
        end: place after its last character.
        opens: whether it may open a sentence, so that its capital says nothing.
    """

    word: str
    start: int
    end: int
    opens: bool


def split_words(text: str) -> list[str]:
    """The tokens of a text as written; the fast way when their places do not matter."""
    return TOKEN.findall(text)


def tokenise(text: str) -> list[Token]:
    """The tokens of a text with their places."""
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


def match_case(word: str, like: str) -> str:
    """A word with the capitals of another: GREAT -> SUPERB, Great -> Superb."""
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def replace_words(text: str, tokens: Sequence[Token], words: Mapping[int, str], *, mark: str = "{new}") -> str:
    """The text with some tokens replaced.

    Args:
        text: the original.
        tokens: of that text.
        words: the new word for the number of a token; it takes the capitals of the old one.
        mark: how a changed word is written, with `{old}` and `{new}`, for example "[{old} -> {new}]".
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
    """A readable text from words alone, for rows whose original text is not at hand."""
    text, quoted, glue = "", False, True
    for word in words:
        closing = word == '"' and quoted
        apart = not (glue or closing or word in _NO_SPACE_BEFORE or (len(word) > 1 and word[0] in "'\u2019"))
        text += " " * apart + word
        quoted ^= word == '"'
        glue = word in _NO_SPACE_AFTER or (word == '"' and quoted)
    return text
