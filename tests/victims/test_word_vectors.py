"""Word vectors from a file: looked up as written or in lower case, and bad files are refused."""

from pathlib import Path

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.victims.word_vectors import use_vectors
from hammingbox.victims.zoo.registry import build

SCHEMA = Schema.sequence(
    4, ("<pad>", "<unknown>", "<name>", "the", "film", "Paul"), ("negative", "positive"), prefix="word "
)


@pytest.mark.parametrize("name", ["word_cnn", "bilstm"])
def test_vectors_from_a_file(name: str, tmp_path: Path) -> None:
    model, path = build(name, SCHEMA, dim=2), tmp_path / "vectors.txt"
    path.write_text("the 1 2\npaul 3 4\nunused 5 6\nfilm 7.5 -8\n")
    table = model.get_parameter("embedding.table.weight")
    before = table.detach().clone()
    assert use_vectors(model, SCHEMA, path) == 3
    assert table[3:].tolist() == [[1, 2], [7.5, -8], [3, 4]], "Paul is looked up in lower case"
    assert torch.equal(table[:3], before[:3])
    path.write_text("2 2\npaul 3 4\nPaul 9 9\n")
    use_vectors(model, SCHEMA, path)
    assert table[5].tolist() == [9, 9], "as written comes first, and a word2vec header is not a word"


def test_bad_vectors_are_refused(tmp_path: Path) -> None:
    model, path = build("word_cnn", SCHEMA, dim=2), tmp_path / "vectors.txt"
    with pytest.raises(FileError, match="file of word vectors"):
        use_vectors(model, SCHEMA, path)
    path.write_text("the 1 2 3\n")
    with pytest.raises(InputError, match=r"expected 2 numbers per word .* dim=3"):
        use_vectors(model, SCHEMA, path)
    path.write_text("the one two\n")
    with pytest.raises(FileError, match="a word and numbers in line 1"):
        use_vectors(model, SCHEMA, path)
    path.write_bytes(b"caf\xe9 1 2\n")
    with pytest.raises(FileError, match="UTF-8"):
        use_vectors(model, SCHEMA, path)
    letters = Schema.sequence(4, "ab", ("x", "y"))
    with pytest.raises(InputError, match="one table of word vectors, got TableMLP"):
        use_vectors(build("mlp", letters), letters, path)
