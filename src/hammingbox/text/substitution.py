"""Which words of a text may be exchanged for which: the rules behind `SynonymSpace`, and their explanation.

All is decided from the clean text. Every rule looks at one exchange alone, and still holds when several words are
exchanged at once: see `Tagger` for why no exchange changes the tag of another.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from hammingbox.errors import InputError
from hammingbox.text.grammar import FORMS, NEGATIONS, STOP_WORDS, doubtful, fits_article
from hammingbox.text.synonyms import SynonymTable
from hammingbox.text.tagger import Tagger
from hammingbox.text.tokens import ends_sentence

MOST = 8
"""Synonyms offered for a word, the nearest first."""


@dataclass(frozen=True)
class Use:
    """A way to use a word and what may replace it there.

    Attributes:
        tag: Penn Treebank tag.
        form: the tag in plain words.
        synonyms: what may replace the word.
        refused: what the table also offers, and why it is not taken.
    """

    tag: str
    form: str
    synonyms: tuple[str, ...]
    refused: dict[str, str]


@dataclass(frozen=True)
class Explanation:
    """What may replace a word and why.

    Attributes:
        word: asked about.
        kept: why the word is never changed; None when it may be.
        uses: one for each way the table knows the word.
    """

    word: str
    kept: str | None
    uses: tuple[Use, ...]


@dataclass(frozen=True, eq=False)
class Substitution:
    """The rules.

    Attributes:
        table: synonyms.
        tagger: parts of speech.
        protected: words of the user that are never changed.
        vocabulary: words a victim knows; only these can be written. None: any word.
        most: synonyms offered for a word.
    """

    table: SynonymTable
    tagger: Tagger
    protected: frozenset[str] = frozenset()
    vocabulary: Container[str] | None = None
    most: int = MOST
    _known: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.most < 1:
            raise InputError(f"expected at least 1 synonym a word, got {self.most}.")

    def kept(self, word: str) -> str | None:
        """Why a word is never changed, whatever its place; None when it may be."""
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
        if self.tagger.usual(word) is None:
            return "not in the tagger's lexicon, so its form is not known"
        return None

    def refused(self, word: str, candidate: str) -> str | None:
        """Why a candidate may not replace a word; None when it may."""
        lower = candidate.lower()
        if lower == word:
            return "the word itself"
        if lower in NEGATIONS or lower in STOP_WORDS:
            return "a stop word or negation"
        usual, own = self.tagger.usual(candidate), self.tagger.usual(word)
        if usual is None:
            return "not in the tagger's lexicon, so its form is not known"
        if usual != own:
            return f"another form: the tagger reads it as {_name(usual)}, {word!r} as {_name(own)}"
        if self.tagger.steers(candidate):
            return "named by a rule of the tagger: it may change the tags around it"
        if self.vocabulary is not None and candidate not in self.vocabulary:
            return "not in the vocabulary"
        return None

    def synonyms(self, tag: str, word: str) -> tuple[str, ...]:
        """What may replace a word that is used as `tag` says, nearest first, whatever its place."""
        if (tag, word) not in self._known:
            found = dict.fromkeys(c for c in self.table.lookup(tag, word) if self.refused(word, c) is None)
            self._known[tag, word] = tuple(found)[: self.most]
        return self._known[tag, word]

    def replacements(self, words: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
        """For each word of a clean text that may change: its place and what may replace it.

        Args:
            words: the text in true case, as the vocabulary writes it.
        """
        for start, sentence in sentences(words):
            for place, tag in enumerate(self.tagger.tag(sentence)):
                word, previous = sentence[place], sentence[place - 1] if place else ""
                if tag not in FORMS or self.kept(word) or doubtful(tag, previous):
                    continue
                if not self.tagger.may_go(sentence, place) or (place == 0 and self._may_be_name(word)):
                    continue
                found = tuple(c for c in self.synonyms(tag, word) if fits_article(c, previous))
                if found:
                    yield start + place, found

    def explain(self, word: str) -> Explanation:
        """What may replace a word in each of its uses, what may not, and why."""
        uses = []
        for tag, form in FORMS.items():
            offered = self.table.lookup(tag, word)
            if offered and not (self.table.neighbours and tag != self.tagger.usual(word)):
                refused = {c: why for c in offered if (why := self.refused(word, c)) is not None}
                taken = self.synonyms(tag, word)
                beyond = {c: f"beyond the nearest {self.most}" for c in offered if c not in refused and c not in taken}
                uses.append(Use(tag, form, taken, refused | beyond))
        return Explanation(word, self.kept(word), tuple(uses))

    def _may_be_name(self, word: str) -> bool:
        """Whether the first word of a sentence, written in lower case here, is also known as a name."""
        return self.vocabulary is not None and word.capitalize() in self.vocabulary


def sentences(words: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Parts of a text that the tagger reads one by one, with the place of their first word."""
    start = 0
    for place, word in enumerate(words):
        if word in (".", "!", "?") or (ends_sentence(word) and word[0] == "<"):
            yield start, words[start : place + 1]
            start = place + 1
    if start < len(words):
        yield start, words[start:]


def _name(tag: str | None) -> str:
    return FORMS.get(tag or "", str(tag))
