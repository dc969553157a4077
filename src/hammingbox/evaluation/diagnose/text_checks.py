"""Checks whether texts that are written from rows of words are read as the same words again."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.diagnose.data_findings import spelling_of_texts
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.text.tokens import split_words
from hammingbox.text.vocabulary import NAME, PAD, UNKNOWN, Vocabulary
from hammingbox.victims.victim import Victim
from hammingbox.victims.written_texts import WrittenTexts, has_words

_MOST_ROWS = 512


def diagnose_spelling(victim: Victim, data: Dataset) -> list[Finding]:
    """Whether a model of texts is asked with the words that its rows stand for. No query is made.

    Rows of characters are texts as they are. Rows of words have lost capitals, spaces and rare words: the text is
    written from what is left, and split into words again here.

    Args:
        victim: one that is asked with ids has no spelling.
        data: rows; at most 512 are read.
    """
    if not (victim.reads_text and has_words(data.schema)):
        return []
    vocabulary = Vocabulary(data.schema.features[0].categories)
    ids = data.batch(slice(0, _MOST_ROWS), "cpu")[0].numpy()
    words = unknown = other = rows = 0
    examples: dict[tuple[str, str], int] = {}
    for row, text in zip(ids.tolist(), WrittenTexts(data.schema).build(ids).tolist(), strict=True):
        given = [word for word in row if word != PAD]
        known = [word for word in given if word not in (UNKNOWN, NAME)]
        back = [word for word in vocabulary.encode(text, len(row)).tolist() if word != PAD]
        words, unknown = words + len(given), unknown + len(given) - len(known)
        rows += given != back
        if known != back:
            tokens = split_words(text)  # as the model reads them: a word outside the vocabulary has no other name
            for here, there in _differences(known, back):
                other += max(here.stop - here.start, 1)
                pair = " ".join(vocabulary.words[word] for word in known[here]), " ".join(tokens[there])
                examples[pair] = examples.get(pair, 0) + 1
    if not rows:
        return []
    commonest = sorted(examples, key=lambda pair: -examples[pair])
    return [spelling_of_texts(rows, len(ids), words=words, unknown=unknown, other=other, examples=commonest)]


def _differences(given: Sequence[int], back: Sequence[int]) -> list[tuple[slice, slice]]:
    """Where they differ."""
    steps = SequenceMatcher(None, given, back, autojunk=False).get_opcodes()
    return [(slice(a, b), slice(c, d)) for kind, a, b, c, d in steps if kind != "equal"]
