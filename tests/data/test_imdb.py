"""IMDB: all layouts give the same rows, the cache is keyed by content, and damaged files are named."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox.data import imdb
from hammingbox.data.dataset import Splits
from hammingbox.data.texts import Labelled
from hammingbox.errors import FileError
from toys.texts import data_folder, small_reviews, write_reviews

REVIEWS = small_reviews(80)
TRAIN, TEST = REVIEWS[:48], [*REVIEWS[48:], REVIEWS[0]]  # REVIEWS[0] is in both


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HAMMINGBOX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HAMMINGBOX_DATA", raising=False)
    return tmp_path / "cache"


def write_jsonl(folder: Path, train: list[Labelled] = TRAIN, test: list[Labelled] = TEST) -> Path:
    return write_reviews(folder, train, test)


def as_files() -> dict[str, bytes]:
    files = {"aclImdb/train/unsup/0_0.txt": b"no label", "aclImdb/README": b"cite us"}
    for part, rows in (("train", TRAIN), ("test", TEST)):
        for i, row in enumerate(rows):
            files[f"aclImdb/{part}/{('neg', 'pos')[row.label]}/{i}_{2 if i == 0 else 9}.txt"] = row.text.encode()
    # A real archive has this file: it is how the folder is recognised.
    assert any(name.endswith("test/neg/0_2.txt") for name in files)
    return files


def write_folder(folder: Path) -> Path:
    for name, content in as_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def write_archive(folder: Path) -> Path:
    folder.mkdir()
    with tarfile.open(folder / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for name, content in as_files().items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return folder


def same(one: Splits, other: Splits) -> bool:
    parts = [(getattr(one, part), getattr(other, part)) for part in ("train", "validation", "test")]
    return all(a.digest == b.digest and torch.equal(a.numbers, b.numbers) for a, b in parts)


def test_all_layouts_give_the_same_rows(tmp_path: Path) -> None:
    expected = imdb.load(data_dir=write_jsonl(tmp_path / "a"), length=16, size=100)
    assert same(expected, imdb.load(data_dir=write_folder(tmp_path / "b"), length=16, size=100))
    assert same(expected, imdb.load(data_dir=write_archive(tmp_path / "c"), length=16, size=100))


def test_the_blocks_of_reviews_json(tmp_path: Path) -> None:
    def rows(part: list[Labelled], label: int) -> list[dict[str, object]]:
        return [{"t": row.text, "s": label} for row in part if row.label == label]

    train, test = TRAIN[:32], REVIEWS[48:]
    blocks = [*rows(test, 0), *rows(train, 0), *rows(test, 1), *rows(train, 1)]
    (tmp_path / "reviews.json").write_text(json.dumps(blocks))
    expected = imdb.load(data_dir=write_jsonl(tmp_path / "a", train, test), length=16, size=100)
    assert same(expected, imdb.load(data_dir=tmp_path, length=16, size=100))
    (tmp_path / "reviews.json").write_text(json.dumps(blocks[::-1]))
    with pytest.raises(FileError, match="in the block of class"):
        imdb.load(data_dir=tmp_path)


def test_parts_share_no_text_and_rows_name_their_review(tmp_path: Path) -> None:
    folder = write_jsonl(tmp_path)
    splits = imdb.load(data_dir=folder, length=16, size=100)
    assert len(splits.train) + len(splits.validation) == len(TRAIN) - 1, "the review in both parts is dropped"
    assert len(splits.test) == len(TEST)
    texts = {part: imdb.texts(part, data_dir=folder) for part in ("train", "test")}
    used = [
        {texts["test" if part == "test" else "train"][i] for i in getattr(splits, part).numbers.tolist()}
        for part in ("train", "validation", "test")
    ]
    assert len(used[0] | used[1] | used[2]) == sum(map(len, used))
    by_text = {row.text: row.label for row in REVIEWS}
    assert [by_text[texts["test"][i]] for i in splits.test.numbers.tolist()] == splits.test.labels.tolist()


def test_the_second_load_comes_from_the_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_jsonl(tmp_path / "a")
    first = imdb.load(data_dir=folder, length=16, size=100)
    (kept,) = cache.glob("built/imdb-*.npz")
    with np.load(kept, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)
    with monkeypatch.context() as patch:
        patch.setattr(imdb, "read", lambda _: pytest.fail("read the reviews again"))
        assert same(first, imdb.load(data_dir=folder, length=16, size=100))
    kept.write_bytes(kept.read_bytes()[:2000])
    assert same(first, imdb.load(data_dir=folder, length=16, size=100)), "a damaged cache is built again"
    assert len(kept.read_bytes()) > 2000
    other = imdb.load(data_dir=write_jsonl(tmp_path / "b", TRAIN[2:]), length=16, size=100)
    assert not same(first, other), "other content, other rows"
    imdb.load(data_dir=folder, length=8, size=100)
    assert len(list(cache.glob("built/*.npz"))) == 3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[: len(b) // 2], "damaged or truncated"),
        (lambda _: gzip.compress(b'{"label": 0}\n'), "expected movie reviews"),
        (lambda _: gzip.compress(b"text,label\n"), "expected movie reviews"),
        (lambda _: gzip.compress(b'{"label": 7, "text": "good"}\n'), "labels 0 and 1"),
        (lambda _: gzip.compress('{"label": 0, "text": "caf\u00e9"}\n'.encode("latin-1")), "UTF-8"),
        (lambda _: gzip.compress(b'{"label": 1, "text": "good"}\n'), "positive and negative test reviews"),
        (lambda _: gzip.compress(b""), "positive and negative test reviews"),
    ],
)
def test_damaged_files_are_named(damage: Callable[[bytes], bytes], message: str, tmp_path: Path, cache: Path) -> None:
    path = write_jsonl(tmp_path) / "imdb" / "test.jsonl.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FileError, match=message):
        imdb.load(data_dir=tmp_path)
    assert not list(cache.glob("**/*.npz")), "the cache is not poisoned"


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"train\.jsonl\.gz or aclImdb"):
        imdb.load(data_dir=tmp_path)
    write_jsonl(tmp_path)
    (tmp_path / "imdb" / "test.jsonl.gz").unlink()
    with pytest.raises(FileError, match=r"readable file at .*test\.jsonl\.gz"):
        imdb.load(data_dir=tmp_path)


def test_the_real_set() -> None:
    reviews = imdb.read(imdb.locate(data_dir=data_folder("imdb")))
    both = {review.text for review in reviews["train"]} & {review.text for review in reviews["test"]}
    assert [len(rows) for rows in reviews.values()] == [25_000, 25_000]
    assert sum(review.text in both for review in reviews["train"]) == 123
