"""S(x) of text: words may become synonyms of the same part of speech and the same grammatical form.

Candidates come from the clean text only. A row of ids in true case is enough to tag it (see `Vocabulary`), so S(x) is
a function of the row and can be built again from a stored result.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hammingbox.data.fetch import find_file, missing_file
from hammingbox.data.schema import Schema
from hammingbox.data.texts import vocabulary_of
from hammingbox.errors import FileError, InputError
from hammingbox.settings import whole_number
from hammingbox.text.substitution import MOST, Substitution
from hammingbox.text.synonyms import WORDNET, SynonymTable, read_neighbours, wordnet_table
from hammingbox.text.tagger import default_tagger
from hammingbox.text.vocabulary import NAME, PAD
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.layout import Layout
from hammingbox.threat.space import Space
from hammingbox.types import Ids

NEIGHBOURS = ("counterfitted_neighbors.json.gz", "counterfitted_neighbors.json")
"""File names of counter-fitted neighbours, in a folder `counterfitted` of the data folder or in that folder itself."""

MOST_SYNONYMS = 1000
"""Largest number of synonyms offered for a word."""
_SEEN_ROWS = 32_768
"""Rows whose changes are cached: an attack asks for the same row many times, and tagging takes milliseconds."""


class SynonymSpace(Space):
    """Every word may become one of its synonyms; stop words, names, negations and protected words stay.

    Args:
        schema: of text, from a loader of this package.
        table: synonyms; WordNet's when not given.
        protected: words that are never changed, in any case.
        most: synonyms offered for a word, the nearest first.

    Raises:
        InputError: the schema is not one of text, or no tagger is installed.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        table: SynonymTable | None = None,
        protected: Sequence[str] = (),
        most: int = MOST,
    ) -> None:
        whole_number("most", most, most=MOST_SYNONYMS)
        self.schema = schema
        self.vocabulary = vocabulary_of(schema)
        self.protected = tuple(protected)
        self.substitution = Substitution(
            table=table or wordnet_table(),
            tagger=default_tagger(),
            protected=frozenset(word.lower() for word in protected),
            vocabulary=self.vocabulary.index,
            most=most,
        )
        self._width = 1 + most
        self._changes = lru_cache(maxsize=_SEEN_ROWS)(self._changes_of)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the cache, which does not travel to another process."""
        return {name: value for name, value in vars(self).items() if name != "_changes"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._changes = lru_cache(maxsize=_SEEN_ROWS)(self._changes_of)

    def slots_of(self, ids: Ids) -> Candidates:
        """Slot 0 is the word, the next ones are its synonyms, nearest first."""
        layout = Layout.of((self._width,) * ids.shape[1], ids.device)
        # All features have one width, so the axis of options is a (features, width) rectangle.
        options = ids.cpu()[:, :, None].repeat(1, 1, self._width)
        valid = torch.zeros(options.shape, dtype=torch.bool, device="cpu")
        valid[:, :, 0] = True
        for row, content in enumerate(np.ascontiguousarray(ids.cpu().numpy(), dtype="<i4")):
            features, slots, words = self._changes(content.tobytes())
            options[row, features, slots] = words
            valid[row, features, slots] = True
        return Candidates(layout, options.flatten(1).to(ids.device), valid.flatten(1).to(ids.device))

    def _changes_of(self, content: bytes) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What a row may become: features, slots and the words these slots write."""
        row = np.frombuffer(content, dtype="<i4")
        tokens = row[: int((row != PAD).nonzero()[0].max(initial=-1)) + 1].tolist()
        # The tagger has never seen "<name>": any name will do.
        words = ["Smith" if i == NAME else self.vocabulary.words[i] for i in tokens]
        found = [
            (feature, slot, self.vocabulary.index[word])
            for feature, synonyms in self.substitution.replacements(words)
            for slot, word in enumerate(synonyms, 1)
        ]
        features, slots, ids = torch.tensor(found, dtype=torch.int64, device="cpu").reshape(-1, 3).unbind(1)
        return features, slots, ids

    def to_json(self) -> dict[str, Any]:
        """The options, and what the table and the tagger were."""
        return {
            "kind": "synonym",
            "source": self.substitution.table.source,
            "sha256": self.substitution.table.sha256,
            "tagger": self.substitution.tagger.name,
            "protected": list(self.protected),
            "most": self.substitution.most,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], schema: Schema) -> "SynonymSpace":
        """The space a result file describes.

        Raises:
            FileError: the table is a local file that is not in the data folder.
            InputError: the table or the tagger is another one now.
        """
        space = cls(
            schema,
            table=None if value["source"] == WORDNET else read_neighbours(_locate(value["source"])),
            protected=value["protected"],
            most=value["most"],
        )
        for name, now in space.to_json().items():
            if now != value.get(name):
                raise InputError(
                    f"expected the synonyms the result was made with ({name} {value.get(name)}), got {now}. "
                    "Install the same version of hammingbox and its [text] extra, or name the same file."
                )
        return space


def counterfitted(*, data_dir: Path | None = None) -> SynonymTable:
    """Counter-fitted neighbours from the data folder.

    Raises:
        FileError: they are not there, or damaged.
    """
    return read_neighbours(neighbours_file(data_dir=data_dir))


def neighbours_file(*, data_dir: Path | None = None) -> Path:
    """Where counter-fitted neighbours lie.

    Raises:
        FileError: they are not there.
    """
    return _locate(NEIGHBOURS[0], data_dir=data_dir)


def _locate(name: str, *, data_dir: Path | None = None) -> Path:
    if Path(name).name != name:  # a result of a stranger names a file, it does not choose a folder
        raise FileError(f"expected the name of a file of neighbours, got a path: {name!r:.80}.")
    names = tuple(dict.fromkeys((name, *(NEIGHBOURS if name in NEIGHBOURS else ()))))
    path = find_file("counterfitted", names, data_dir=data_dir)
    if path is None:
        raise missing_file("counterfitted", names, data_dir=data_dir)
    return path
