"""Many texts at once: each is cut into tokens once, everything after that is array work.

50,000 reviews hold 14 million tokens but only some 300,000 distinct ones. A corpus keeps the number of the distinct
token ("type") for each token; counting and encoding then touch each type once. Texts are read as a stream and not kept.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int32, Int64, Integer

from hammingbox.text.tokens import ends_sentence, split_words
from hammingbox.text.vocabulary import PAD, Vocabulary, head_and_tail


class Types(dict[str, int]):
    """Numbers distinct tokens in the order they are met."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts as numbers of distinct tokens.

    Attributes:
        types: the distinct tokens, of this corpus and of those it is a part of.
        flat: the type of every token, text after text.
        ends: where each text ends in `flat`.
    """

    types: Types
    flat: Int32[np.ndarray, "tokens"]
    ends: Int64[np.ndarray, "texts"]

    @classmethod
    def read(cls, texts: Iterable[str]) -> "Corpus":
        """Cuts a stream of texts into tokens."""
        types, flat, ends = Types(), array("i"), []
        for text in texts:
            flat.extend(map(types.__getitem__, split_words(text)))
            ends.append(len(flat))
        return cls(types, np.asarray(flat, dtype=np.int32), np.array(ends, dtype=np.int64))

    def first(self, texts: int) -> "Corpus":
        """The first texts."""
        ends = self.ends[:texts]
        return Corpus(self.types, self.flat[: ends[-1] if len(ends) else 0], ends)

    def _opens(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Whether each token may open a sentence; agrees with `tokenise`."""
        if len(self.flat) == 0:
            return np.zeros(0, dtype=bool)
        ending = np.array([ends_sentence(word) for word in self.types], dtype=bool)
        opens = np.concatenate([[True], ending[self.flat[:-1]]])
        opens[self.ends[:-1][self.ends[:-1] < len(opens)]] = True
        return opens

    def vocabulary(self, size: int) -> Vocabulary:
        """The most frequent words of these texts."""
        words = list(self.types)
        keys, counts = np.unique(self.flat.astype(np.int64) * 2 + self._opens(), return_counts=True)
        return Vocabulary.build(
            {
                (words[key >> 1], bool(key & 1)): count
                for key, count in zip(keys.tolist(), counts.tolist(), strict=True)
            },
            size,
        )

    def encode(self, vocabulary: Vocabulary, length: int) -> Integer[np.ndarray, "texts features"]:
        """Rows of ids; agrees with `Vocabulary.encode`."""
        small = np.int16 if len(vocabulary.words) <= np.iinfo(np.int16).max else np.int32
        by_type = np.array(
            [[vocabulary.category(word, opens=opens) for opens in (False, True)] for word in self.types], dtype=small
        ).reshape(-1, 2)
        ids = by_type[self.flat, self._opens().astype(np.int8)]
        rows = np.full((len(self.ends), length), PAD, dtype=small)
        start = 0
        for row, end in zip(rows, self.ends.tolist(), strict=True):
            kept: Sequence[int] = head_and_tail(end - start, length)
            row[: len(kept)] = ids[start:end][kept] if len(kept) < end - start else ids[start:end]
            start = end
        return rows
