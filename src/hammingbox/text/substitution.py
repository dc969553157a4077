"""Which words of a text may be replaced by which: the rules behind `SynonymSpace`, and their explanation.

All rules use only the clean text. Each rule looks at a single replacement and still holds if several words are
replaced at once: `Tagger` explains why no replacement changes the tag of another word.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hammingbox.errors import InputError
from hammingbox.text.grammar import FORMS, NEGATIONS, STOP_WORDS, fits_article, is_doubtful_noun
from hammingbox.text.synonyms import SynonymTable
from hammingbox.text.tagger import Tagger
from hammingbox.text.tokens import split_sentences

MOST = 8
"""Default number of synonyms offered per word."""


@dataclass(frozen=True)
class Use:
    """One use of a word, and what may replace the word there.

    Attributes:
        tag: Penn Treebank tag.
        form: the tag in plain words.
        synonyms: what may replace the word.
        refused: other words that the table offers, and why each is not used.
    """

    tag: str
    form: str
    synonyms: tuple[str, ...]
    refused: dict[str, str]


@dataclass(frozen=True)
class Explanation:
    """What may replace a word, and why.

    Attributes:
        word: the word to explain.
        kept: why the word is never changed; None if it may change.
        uses: one per tag under which the table has the word.
    """

    word: str
    kept: str | None
    uses: tuple[Use, ...]


@dataclass(frozen=True, eq=False)
class Substitution:
    """The rules for replacing words.

    Attributes:
        table: the synonyms.
        tagger: tags the parts of speech.
        protected: words that are never changed, in lower case.
        vocabulary: the words a victim knows; only these may be written. None allows any word.
        most: the largest number of synonyms offered per word.
    """

    table: SynonymTable
    tagger: Tagger
    protected: frozenset[str] = frozenset()
    vocabulary: Container[str] | None = None
    most: int = MOST
    _known: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.most < 1:
            raise InputError(f"expected at least 1 synonym per word, got {self.most}.")

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: the rules without the synonyms that were looked up so far."""
        return {**vars(self), "_known": {}}

    def kept(self, word: str) -> str | None:
        """Why a word is never changed, wherever it is; None if it may change."""
        lower = word.lower()
        if lower in self.protected:
            return "a protected word"
        if lower in NEGATIONS:
            return "a negation"
        if lower in STOP_WORDS:
            return "a stop word"
        if word != lower:
            return "a name"
        if not word.replace("-", "").isalpha():
            return "not a word"
        if self.tagger.lexicon_tag(word) is None:
            return "not in the tagger's lexicon, so its form is not known"
        return None

    def refused(self, word: str, candidate: str) -> str | None:
        """Why a candidate may not replace a word; None if it may."""
        lower = candidate.lower()
        if lower == word:
            return "the word itself"
        if lower in NEGATIONS or lower in STOP_WORDS:
            return "a stop word or negation"
        new, old = self.tagger.lexicon_tag(candidate), self.tagger.lexicon_tag(word)
        if new is None:
            return "not in the tagger's lexicon, so its form is not known"
        if new != old:
            return f"another form: the tagger reads it as {_form(new)}, {word!r} as {_form(old)}"
        if self.tagger.is_in_a_rule(candidate):
            return "named by a rule of the tagger: it may change the tags around it"
        if self.vocabulary is not None and candidate not in self.vocabulary:
            return "not in the vocabulary"
        return None

    def synonyms(self, tag: str, word: str) -> tuple[str, ...]:
        """What may replace a word that has this tag, wherever it is, nearest first."""
        if (tag, word) not in self._known:
            found = dict.fromkeys(c for c in self.table.lookup(tag, word) if self.refused(word, c) is None)
            self._known[tag, word] = tuple(found)[: self.most]
        return self._known[tag, word]

    def replacements(self, words: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yields the index of each word of a clean text that may change, and what may replace it.

        Args:
            words: the text in true case, as the vocabulary writes it.
        """
        for start, sentence in split_sentences(words):
            for index, tag in enumerate(self.tagger.tag(sentence)):
                word, previous = sentence[index], sentence[index - 1] if index else ""
                if tag not in FORMS or self.kept(word) or is_doubtful_noun(tag, previous):
                    continue
                if not self.tagger.may_be_removed(sentence, index) or (index == 0 and self._may_be_name(word)):
                    continue
                found = tuple(c for c in self.synonyms(tag, word) if fits_article(c, previous))
                if found:
                    yield start + index, found

    def explain(self, word: str) -> Explanation:
        """What may replace a word in each of its uses, and why other words may not."""
        uses = []
        for tag, form in FORMS.items():
            offered = self.table.lookup(tag, word)
            if offered and not (self.table.neighbours and tag != self.tagger.lexicon_tag(word)):
                refused = {c: why for c in offered if (why := self.refused(word, c)) is not None}
                used = self.synonyms(tag, word)
                beyond = {c: f"beyond the nearest {self.most}" for c in offered if c not in refused and c not in used}
                uses.append(Use(tag, form, used, refused | beyond))
        return Explanation(word, self.kept(word), tuple(uses))

    def _may_be_name(self, word: str) -> bool:
        """Whether the first word of a sentence, here in lower case, may also be a name."""
        return self.vocabulary is not None and word.capitalize() in self.vocabulary


def _form(tag: str | None) -> str:
    return FORMS.get(tag or "", str(tag))
