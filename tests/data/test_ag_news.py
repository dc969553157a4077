"""AG's News: Zhang's alphabet and the layouts of the files."""

import gzip
from pathlib import Path

import pytest
import torch

from hammingbox.data import ag_news
from hammingbox.data.fetch import CACHE_VARIABLE, DATA_VARIABLE
from hammingbox.data.registry import source_named
from hammingbox.errors import FileError
from hammingbox.threat.masked_space import MaskedSpace
from toys.real_data import DATA, needs

TEXTS = [f'"{i % 4 + 1}","Title {i}","Description, number ""{i}"" of {"many" * (i % 3)}"' for i in range(60)]


def test_the_alphabet_is_zhangs() -> None:
    assert len(set(ag_news.ALPHABET)) == len(ag_news.ALPHABET) == 70
    row = ag_news.encode("The €5 (ÉTÉ) deal\nZ", 24)
    assert "".join(ag_news.ALPHABET[i] for i in row) == "the  5 ( t ) deal\nz     "
    assert len(ag_news.encode("x" * 99, 10)) == 10
    assert (ag_news.encode("", 5) == 0).all()


@pytest.mark.parametrize("layout", ["train.csv", "train.csv.gz", "ag_news/ag_news_csv/train.csv", "train_part.csv.gz"])
@pytest.mark.parametrize("header", ["", "Class Index,Title,Description\n"])
def test_usual_layouts(layout: str, header: str, tmp_path: Path) -> None:
    for name, lines in (
        (layout, TEXTS[:50]),
        (layout.replace("train_part", "test").replace("train", "test"), TEXTS[50:]),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = (header + "\n".join(lines)).encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    splits = ag_news.load(data_dir=tmp_path, length=128)
    assert len(splits.train) + len(splits.validation) == 50
    assert len(splits.validation) == 2
    assert "".join(splits.schema.decode(splits.test.ids[0].tolist())).rstrip() == (
        'title 50 description, number "50" of manymany'
    )
    assert splits.test.labels.tolist() == [i % 4 for i in range(50, 60)]


def test_training_texts_that_equal_a_test_text_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("\n".join([*TEXTS[:50], *TEXTS[50:53], "1,Title 59,Description at length"]))
    (tmp_path / "test.csv").write_text("\n".join(TEXTS[50:]))
    assert training_rows(tmp_path, 128) == 51
    assert training_rows(tmp_path, 20) == 50, "cut at 20 characters, the last one equals a test text too"


def training_rows(folder: Path, length: int) -> int:
    splits = ag_news.load(data_dir=folder, length=length)
    return len(splits.train) + len(splits.validation)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got an empty file"),
        (b"class,title,description\n", "expected texts in .* got none"),
        (b"1,title,text\n7,title,text\n", "expected a class 1..4, a title and a description in line 2 .* starting"),
        (b"1,title,text\n2,title\n", "line 2 of .*, got 2 fields"),
        (gzip.compress(b"1,title,text\n" * 999, mtime=0)[:-30], "expected complete gzip data"),
        (b"1,title,caf\xe9\n", "expected utf-8 text"),
    ],
)
def test_bad_files(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(content)
    (tmp_path / "test.csv").write_text("\n".join(TEXTS))
    with pytest.raises(FileError, match=message):
        ag_news.load(data_dir=tmp_path)


def test_a_missing_file_says_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match=r"a file of ag_news \(train.csv or .* Put the file into FOLDER/ag_news/"):
        ag_news.load(data_dir=tmp_path)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nothing listens there: no network
    with pytest.raises(FileError, match=r"expected to download ag_news/train.csv .* no connection"):
        ag_news.load()


def test_blanks_are_kept() -> None:
    source = source_named("ag_news")
    schema = ag_news.schema(128)
    x = torch.from_numpy(ag_news.encode("a b", 128))[None].long()
    counts = MaskedSpace(schema, forbidden=source.forbidden, kept=source.kept).candidates(x).counts
    assert counts[0, :4].tolist() == [70, 1, 70, 1]


@needs("ag_news/test.csv.gz")
@needs("ag_news/train_part.csv.gz")
def test_the_real_files() -> None:
    splits = ag_news.load(data_dir=DATA)
    assert torch.bincount(splits.test.labels).tolist() == [1900] * 4
    assert len(splits.train) + len(splits.validation) == 38_126, "four of 38,130 equal a test text"
