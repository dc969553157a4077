"""AG's News as characters (Zhang, Zhao and LeCun 2015): four topics, 120,000 training and 7,600 test texts.

Zhang's alphabet has 70 symbols: 69 characters and a blank. The blank represents spaces, all other characters and the
padding after a short text. A text is its title and description in lower case, cut at a fixed length. Zhang reverses
the text. This loader does not: a convolutional net learns either direction equally well, and rows stay readable.
"""

from pathlib import Path

import numpy as np
import torch

from hammingbox.data.cache import Arrays, cached_arrays
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.delimited import read_rows
from hammingbox.data.fetch import RemoteFile, find_or_download
from hammingbox.data.schema import Schema
from hammingbox.data.split import distinct_rows, random_positions
from hammingbox.errors import FileError

BLANK = " "
ALPHABET = BLANK + "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+=<>()[]{}\n"
CLASSES = ("World", "Sports", "Business", "Sci/Tech")
LENGTH = {"cpu": 256, "paper": 1014}
"""Characters per row: the paper's length, and one that trains on two cores and fits 70% of the test texts."""

_HOME = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/555590db4219b1243abb1918effd6a7425a2d75f/data/"
_TRAIN = RemoteFile(
    "ag_news/train.csv",
    (_HOME + "ag_news_csv/train.csv",),
    "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
    29_470_338,
)
_TEST = RemoteFile(
    "ag_news/test.csv",
    (_HOME + "ag_news_csv/test.csv",),
    "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
    1_857_427,
)
_TRAINING_SHARE = 0.95
_INFLATED = 256
"""MiB of the texts after inflation, with room to spare."""
_CODES = np.zeros(256, dtype=np.uint8)
_CODES[[ord(letter) for letter in ALPHABET]] = range(len(ALPHABET))


def load(*, data_dir: Path | None = None, length: int = LENGTH["cpu"]) -> Splits:
    """The official test set, and the training texts, 5% of which are held out for validation.

    Training texts whose row equals the row of a test text are dropped.

    Args:
        data_dir: a folder with train.csv and test.csv (plain or .gz, with or without a header), or with
            train_part.csv.gz instead of the full training set.
        length: characters per row.

    Raises:
        FileError: a file is missing or damaged.
    """
    train = _read(find_or_download("ag_news", _layouts("train", "train_part"), _TRAIN, data_dir=data_dir), length)
    test = _read(find_or_download("ag_news", _layouts("test"), _TEST, data_dir=data_dir), length)
    number = distinct_rows(torch.cat([train.ids, test.ids]))
    train = train.take(~torch.isin(number[: len(train)], number[len(train) :]))
    training = random_positions(train.ids) < _TRAINING_SHARE
    return Splits(train.take(training), train.take(~training), test)


def schema(length: int) -> Schema:
    """The schema of rows of `length` characters."""
    return Schema.sequence(length, ALPHABET, CLASSES, prefix="character ")


def encode(text: str, length: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The row of a text: in lower case, cut or padded with blanks; unknown characters become blanks."""
    points = np.frombuffer(text.lower()[:length].encode("utf-32-le", "replace"), dtype="<u4")[:length]
    row = np.zeros(length, dtype=np.uint8)
    row[: len(points)] = _CODES[np.minimum(points, 255)]
    return row


def _layouts(*names: str) -> list[str]:
    return [f"{folder}{name}.csv{end}" for name in names for folder in ("", "ag_news_csv/") for end in ("", ".gz")]


def _read(path: Path, length: int) -> Dataset:
    arrays = cached_arrays("ag_news", [path], f"characters 1, length {length}", lambda: _build(path, length))
    return Dataset(schema(length), torch.from_numpy(arrays["ids"]), torch.from_numpy(arrays["labels"]), "ag_news")


def _build(path: Path, length: int) -> Arrays:
    labels, rows = [], []
    for line, fields in read_rows(path, inflated=_INFLATED):
        if line == 1 and not fields[0].isdigit():
            continue  # a header
        if len(fields) < 3 or fields[0] not in {"1", "2", "3", "4"}:
            raise FileError(
                f"expected a class 1..4, a title and a description in line {line} of {path}, "
                f"got {len(fields)} fields starting with {fields[0][:20]!r}. Get the file again."
            )
        labels.append(int(fields[0]) - 1)
        rows.append(encode(f"{fields[1]} {fields[2]}".replace("\\n", "\n"), length))
    if not rows:
        raise FileError(f"expected texts in {path}, got none. Get the file again.")
    return {"ids": np.stack(rows), "labels": np.array(labels, dtype=np.int64)}
