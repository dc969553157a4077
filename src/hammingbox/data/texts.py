"""Turns labelled texts into a data set: splits them, and encodes them with a vocabulary of the training texts."""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import torch

from hammingbox.data.cache import Arrays
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.text.corpus import Corpus
from hammingbox.text.vocabulary import Vocabulary

LENGTH, SIZE = 256, 20_000
"""Default number of tokens per row and of words in the vocabulary."""

_PARTS = ("train", "validation", "test")


class Labelled(NamedTuple):
    """A text and its class id."""

    text: str
    label: int


def content_key(text: str) -> bytes:
    """A sort key that gives texts a random order, the same on every machine; equal texts have equal keys."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def text_splits(
    train: Sequence[Labelled],
    test: Sequence[Labelled],
    classes: Sequence[str],
    *,
    validation: Sequence[Labelled] | None = None,
    length: int = LENGTH,
    size: int = SIZE,
    name: str = "text",
    words_of_all: bool = False,
) -> Splits:
    """Training, validation and test rows of texts.

    Training texts that are also test texts are dropped. A tenth of the remaining distinct texts becomes the validation
    set, if there is none. Rows are in the order of `content_key`, so that the first n rows are a fair sample. The
    number of a row is the index of its text in `train`, `validation` or `test`.

    Args:
        train: texts for training and validation.
        test: texts held out.
        classes: names by class id.
        validation: texts for validation; a part of `train` without them.
        length: tokens per row; see `head_and_tail` for longer texts.
        size: words in the vocabulary.
        name: shown in results.
        words_of_all: the vocabulary is that of all texts, not of the training texts. A model that was trained elsewhere
            knows words that these training texts do not have.

    Raises:
        InputError: there are no texts, texts have no words, or labels are not class ids.
    """
    if not train or not test:
        raise InputError(f"expected training and test texts, got {len(train)} and {len(test)}.")
    if length < 1:
        raise InputError(f"expected rows of at least 1 token, got {length}.")
    given = {"train": train, "test": test} | ({} if validation is None else {"validation": validation})
    keys = {part: [content_key(row.text) for row in texts] for part, texts in given.items()}
    held = {part: set(keys.get(part, ())) for part in ("validation", "test")}
    distinct = sorted(set(keys["train"]) - held["test"] - held["validation"])
    if len(distinct) < 2:
        raise InputError(f"expected at least 2 distinct training texts that are not test texts, got {len(distinct)}.")
    if validation is None:
        given["validation"], keys["validation"] = train, keys["train"]
        held["validation"] = set(distinct[: max(1, len(distinct) // 10)])
    kept = {"train": set(distinct) - held["validation"], "validation": held["validation"], "test": held["test"]}
    rows = {
        part: sorted((i for i, key in enumerate(keys[part]) if key in kept[part]), key=keys[part].__getitem__)
        for part in _PARTS
    }
    labelled = {part: [given[part][i] for i in rows[part]] for part in _PARTS}
    corpus = Corpus.read(row.text for part in _PARTS for row in labelled[part])
    vocabulary = (corpus if words_of_all else corpus.first(len(rows["train"]))).vocabulary(size)
    schema = Schema.sequence(length, vocabulary.words, classes, prefix="word ")
    encoded = torch.from_numpy(corpus.encode(vocabulary, length)).split([len(rows[part]) for part in _PARTS])
    parts = []
    for part, ids in zip(_PARTS, encoded, strict=True):
        labels = torch.tensor([row.label for row in labelled[part]], device="cpu")
        parts.append(Dataset(schema, ids, labels, name, torch.tensor(rows[part], device="cpu")))
    return Splits(*parts)


def vocabulary_of(schema: Schema) -> Vocabulary:
    """The vocabulary of a text schema.

    Raises:
        InputError: it is not the schema of a text.
    """
    if not schema.shares_alphabet:
        raise InputError("expected a schema of text (one vocabulary for all positions), got a schema of columns.")
    return Vocabulary(schema.features[0].categories)


def to_arrays(splits: Splits) -> Arrays:
    """Rows, labels, row numbers and words as plain arrays, for the cache."""
    words = json.dumps([splits.schema.features[0].categories, splits.schema.classes, splits.train.name])
    arrays: Arrays = {"words": np.frombuffer(words.encode(), dtype=np.uint8)}
    for part in _PARTS:
        data: Dataset = getattr(splits, part)
        arrays |= {f"{part}_{field}": getattr(data, field).numpy() for field in ("ids", "labels", "numbers")}
    return arrays


def from_arrays(arrays: Arrays) -> Splits:
    """Inverse of `to_arrays`."""
    words, classes, name = json.loads(arrays["words"].tobytes())
    schema = Schema.sequence(arrays["train_ids"].shape[1], words, classes, prefix="word ")
    fields = {
        part: [torch.from_numpy(arrays[f"{part}_{field}"]) for field in ("ids", "labels", "numbers")] for part in _PARTS
    }
    return Splits(*(Dataset(schema, ids, labels, name, numbers) for ids, labels, numbers in fields.values()))
