"""Victims for text: padding changes nothing, vectors come from a file."""

from pathlib import Path

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.victims.word_vectors import use_vectors
from hammingbox.victims.zoo.padding import lengths
from hammingbox.victims.zoo.registry import build

WORDS = ("<pad>", "<unknown>", "<name>", "the", "film", "Paul")
MODELS = ["word_cnn", "bilstm"]


def schema(length: int) -> Schema:
    return Schema.sequence(length, WORDS, ("negative", "positive"), prefix="word ")


@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing(name: str) -> None:
    model = build(name, schema(9), dim=4).eval()
    ids = torch.tensor([[3, 4, 5, 3, 4, 1], [4, 3, 4, 0, 0, 0], [5, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
    longer = torch.cat([ids, torch.zeros(4, 3, dtype=torch.int64)], 1)
    assert lengths(ids).tolist() == [6, 3, 1, 1]
    assert bool(model(longer).isfinite().all())
    short = build(name, schema(6), dim=4).eval()
    short.load_state_dict(model.state_dict())
    assert torch.allclose(model(longer), short(ids), atol=1e-6)
    assert not torch.allclose(short(ids[:1]), short(ids[:1].flip(1))), "the order of words counts"


@pytest.mark.parametrize("name", MODELS)
def test_the_head_masks_by_the_ids_it_is_given(name: str) -> None:
    model = build(name, schema(4), dim=4).eval()
    ids = torch.tensor([[3, 4, 0, 0]])
    embedded = model.embed(ids)
    noisy = embedded.clone()
    noisy[:, 2:] += 5
    assert torch.equal(model.head(embedded, ids), model.head(noisy, ids))
    assert not torch.equal(model.head(embedded, ids), model.head(noisy, torch.full_like(ids, 3)))


@pytest.mark.parametrize("name", MODELS)
def test_vectors_from_a_file(name: str, tmp_path: Path) -> None:
    model, path = build(name, schema(4), dim=2), tmp_path / "vectors.txt"
    path.write_text("the 1 2\npaul 3 4\nunused 5 6\nfilm 7.5 -8\n")
    before = model.embedding.table.weight.detach().clone()
    assert use_vectors(model, schema(4), path) == 3
    after = model.embedding.table.weight
    assert after[3:].tolist() == [[1, 2], [7.5, -8], [3, 4]], "Paul is looked up in lower case"
    assert torch.equal(after[:3], before[:3])
    path.write_text("2 2\npaul 3 4\nPaul 9 9\n")
    use_vectors(model, schema(4), path)
    assert after[5].tolist() == [9, 9], "as written comes first, and a word2vec header is no word"


def test_bad_vectors_are_refused(tmp_path: Path) -> None:
    model, path = build("word_cnn", schema(4), dim=2), tmp_path / "vectors.txt"
    with pytest.raises(FileError, match="file of word vectors"):
        use_vectors(model, schema(4), path)
    path.write_text("the 1 2 3\n")
    with pytest.raises(InputError, match=r"expected 2 numbers a word .* dim=3"):
        use_vectors(model, schema(4), path)
    path.write_text("the one two\n")
    with pytest.raises(FileError, match="a word and numbers in line 1"):
        use_vectors(model, schema(4), path)
    path.write_bytes(b"caf\xe9 1 2\n")
    with pytest.raises(FileError, match="UTF-8"):
        use_vectors(model, schema(4), path)
    with pytest.raises(InputError, match="one table of word vectors"):
        use_vectors(build("mlp", Schema.sequence(4, "ab", ("x", "y"))), Schema.sequence(4, "ab", ("x", "y")), path)
