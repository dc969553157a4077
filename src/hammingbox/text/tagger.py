"""Tags parts of speech with the Brill tagger of TextBlob: a lexicon, then rules that look at neighbouring words.

TextBlob is an optional dependency (`pip install 'hammingbox[text]'`). It is imported when the tagger is first needed.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from hammingbox.errors import InputError, missing_library

REACH = 3
"""No rule looks further than this many words."""


class Tagger:
    """Penn Treebank tags of words.

    A word starts with its tag in the lexicon, whatever its neighbours are. Rules then change tags depending on the
    tags, and in a few cases on the words, of the neighbours. So if words are replaced by words that have the same
    lexicon tag and occur in no rule, all tags of the sentence stay the same, however many words are replaced.

    Raises:
        InputError: TextBlob is not installed.
    """

    def __init__(self) -> None:
        try:
            from textblob.en import lexicon, parser
        except ImportError as error:
            raise missing_library("textblob", "text", "to tag words", error) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # TextBlob does not close its data files
            parts: tuple[Any, ...] = (lexicon, lexicon.context, lexicon.entities, lexicon.morphology)
            for part in parts:
                len(part)  # loads the file
        self.name = f"textblob {version('textblob')}"
        self._parser, self._lexicon = parser, lexicon
        changed = {rule[1] for rule in lexicon.context}
        self._by_word: dict[str, set[str]] = {}
        for rule in lexicon.context:
            if "WD" in rule[2].upper() or rule[2].upper() in ("LBIGRAM", "RBIGRAM"):
                for argument in rule[3:]:
                    self._by_word.setdefault(argument, set()).add(rule[0])
        self._named = {word for entries in lexicon.entities.values() for entry in entries for word in entry}
        self._named |= {word for rule in lexicon.morphology for word in rule[:2] if rule[1:3] and "good" in str(rule)}
        # Tags that no other rule writes: only the lexicon decides where rules for them apply.
        self._only_lexicon = {tag for tags in self._by_word.values() for tag in tags} - changed - {"*"}

    def __reduce__(self) -> tuple[Callable[[str], "Tagger"], tuple[str]]:
        """What is sent to another process: the name; the other process loads its own tagger."""
        return _tagger_named, (self.name,)

    def tag(self, sentence: Sequence[str]) -> list[str]:
        """The tag of each word of a sentence."""
        return [tag for _, tag in self._parser.find_tags(list(sentence))]

    def lexicon_tag(self, word: str) -> str | None:
        """The tag of a word in the lexicon; None if the word is not in it."""
        return self._lexicon.get(word)

    def is_in_a_rule(self, word: str) -> bool:
        """Whether a rule names the word, so that writing it may change the tags around it."""
        return word in self._by_word or word in self._named

    def may_be_removed(self, sentence: Sequence[str], index: int) -> bool:
        """Whether removing a word from its sentence leaves the result of every rule that names it unchanged."""
        changes = self._by_word.get(sentence[index])
        if changes is None:
            return True
        near = sentence[max(0, index - REACH) : index + REACH + 1]
        return changes <= self._only_lexicon and not any(self.lexicon_tag(word) in changes for word in near)


@lru_cache(maxsize=1)
def default_tagger() -> Tagger:
    """The tagger, loaded once.

    Raises:
        InputError: TextBlob is not installed.
    """
    return Tagger()


def _tagger_named(name: str) -> Tagger:
    """The tagger of this process, if it is the version that another process used.

    Raises:
        InputError: TextBlob is not installed, or has another version.
    """
    tagger = default_tagger()
    if tagger.name != name:
        raise InputError(
            f"expected the tagger {name}, got {tagger.name}. Install the same version of TextBlob on every machine."
        )
    return tagger
