"""Word vectors from a local text file in the format of GloVe: a word and its numbers on each line."""

from pathlib import Path

import numpy as np
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.files import bounded_lines
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding


def use_vectors(victim: Victim, schema: Schema, path: Path) -> int:
    """Writes pre-trained vectors into a victim's embedding. Words that the file lacks keep their own vectors.

    A word is looked up as written and, if it is not there, in lower case. The file is read line by line.

    Args:
        victim: has a shared `CategoryEmbedding` named `embedding`, whose table is changed.
        schema: what the ids mean.
        path: the file.

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
    table = embedding.table.weight
    exact = {word: i for i, word in enumerate(words)}
    in_lower_case: dict[str, set[int]] = {}
    for i, word in enumerate(words):
        in_lower_case.setdefault(word.lower(), set()).add(i)
    final: set[int] = set()
    found: set[int] = set()
    try:
        with path.open("rb") as binary, torch.no_grad():
            for number, line in enumerate(bounded_lines(binary, path), 1):
                word, _, numbers = line.rstrip("\r\n").partition(" ")
                if number == 1 and len(numbers.split()) == 1:
                    continue  # word2vec's text format begins with the table's size
                places = in_lower_case.get(word, set()) - final
                if word in exact:
                    final.add(exact[word])
                    places |= {exact[word]}
                if places:
                    table[sorted(places)] = _vector(numbers, table.shape[1], path, number).to(table.device)
                    found |= places
    except UnicodeDecodeError as error:
        raise FileError(f"expected word vectors as UTF-8 text in {path}, got another encoding.") from error
    except OSError as error:
        raise FileError(f"expected a file of word vectors at {path}, got: {error.strerror or error}.") from error
    return len(found)


def _vector(numbers: str, dim: int, path: Path, line: int) -> torch.Tensor:
    try:
        vector = np.array(numbers.split(), dtype=np.float32)
    except ValueError as error:
        raise FileError(f"expected a word and numbers in line {line} of {path}, got {numbers[:40]!r}.") from error
    if not np.isfinite(vector).all():
        raise FileError(f"expected finite numbers in line {line} of {path}, got others.")
    if len(vector) != dim:
        raise InputError(
            f"expected {dim} numbers per word in {path}, got {len(vector)} in line {line}. "
            f"Build the model with dim={len(vector)}, or use a file with vectors of size {dim}."
        )
    return torch.from_numpy(vector)
