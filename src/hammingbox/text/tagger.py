"""Parts of speech by Brill's tagger as TextBlob carries it: a lexicon, then rules that look at neighbours.

The tagger is an optional dependency (`pip install 'hammingbox[text]'`) and is loaded when it is first needed.
"""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from hammingbox.errors import InputError

REACH = 3
"""No rule looks further than this many words."""


class Tagger:
    """Penn Treebank tags of words.

    A word begins with the tag the lexicon gives it, whatever its neighbours; rules then change tags by the tags, and
    in a few cases by the words, of its neighbours. So a row whose words are exchanged for others with the same
    `usual` tag, none of them named by a rule, keeps every one of its tags, whichever words were exchanged together.
    """

    def __init__(self) -> None:
        try:
            from textblob.en import lexicon, parser
        except ImportError as error:
            raise InputError(
                "expected TextBlob to tag words, got no such package. Run: pip install 'hammingbox[text]'."
            ) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the package leaves its data files to the collector
            parts: tuple[Any, ...] = (lexicon, lexicon.context, lexicon.entities, lexicon.morphology)
            for part in parts:
                len(part)  # each reads its file now
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
        # Rules for tags that no other rule writes: the lexicon alone says where they apply.
        self._only_lexicon = {tag for tags in self._by_word.values() for tag in tags} - changed - {"*"}

    def tag(self, sentence: Sequence[str]) -> list[str]:
        """The tag of each word of a sentence."""
        return [tag for _, tag in self._parser.find_tags(list(sentence))]

    def usual(self, word: str) -> str | None:
        """The tag the lexicon gives a word; None when it does not know it."""
        return self._lexicon.get(word)

    def steers(self, word: str) -> bool:
        """Whether some rule names the word, so that writing it may change the tags around it."""
        return word in self._by_word or word in self._named

    def may_go(self, sentence: Sequence[str], place: int) -> bool:
        """Whether a word can be taken out of its sentence without a rule noticing."""
        changes = self._by_word.get(sentence[place])
        if changes is None:
            return True
        near = sentence[max(0, place - REACH) : place + REACH + 1]
        return changes <= self._only_lexicon and not any(self.usual(word) in changes for word in near)


@lru_cache(maxsize=1)
def default_tagger() -> Tagger:
    """The tagger, loaded once.

    Raises:
        InputError: TextBlob is not installed.
    """
    return Tagger()
