"""Small texts that tests share, and real reviews if the data folder has them."""

import gzip
import json
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pytest

from hammingbox.data import imdb
from hammingbox.data.dataset import Splits
from hammingbox.data.texts import Labelled, text_splits
from toys.real_data import DATA

GOOD = ("great", "wonderful", "superb", "funny", "excellent", "brilliant")
BAD = ("awful", "terrible", "boring", "dreadful", "bad", "horrible")
FRAMES = (
    "I saw this {0} film with Grace . It was {1} and the actors looked {2} .",
    "A {0} movie ! The plot is {1} , but not {2} .",
    "The story seems {0} . Nobody found it {1} . What a {2} ending !",
    "Paul enjoyed a {0} picture ; his friends were {1} and the music was {2} .",
)


def small_reviews(rows: int = 240) -> list[Labelled]:
    """Generated reviews; the adjectives of a review determine its class."""
    reviews = []
    for i in range(rows):
        words = (BAD, GOOD)[i % 2]
        chosen = [words[(i // 2 + k * (1 + i // 12)) % len(words)] for k in range(3)]
        reviews.append(Labelled(f"{i} . " + FRAMES[i // 2 % len(FRAMES)].format(*chosen), i % 2))
    return reviews


@lru_cache(maxsize=1)
def small_splits() -> Splits:
    reviews = small_reviews()
    return text_splits(reviews[:180], reviews[180:], imdb.CLASSES, length=24, size=200, name="small")


def write_reviews(folder: Path, train: list[Labelled], test: list[Labelled]) -> Path:
    """Writes reviews into a data folder, where the IMDB loader finds them."""
    (folder / "imdb").mkdir(parents=True)
    for part, rows in (("train", train), ("test", test)):
        lines = "".join(json.dumps({"label": row.label, "text": row.text}) + "\n" for row in rows)
        (folder / "imdb" / f"{part}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


def data_folder(name: str) -> Path:
    """The data folder, if it has the folder of a public data set; otherwise the test is skipped."""
    if not (DATA / name).is_dir():
        pytest.skip(f"needs real data: put {name}/ into a folder and set HAMMINGBOX_DATA to it")
    return DATA


def imdb_reviews(rows: int) -> list[Labelled]:
    """IMDB test reviews from the whole file at equal distances; without the file the test is skipped."""
    path = data_folder("imdb") / "imdb" / "test.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        chosen = [json.loads(line) for line in islice(lines, 0, None, 25_000 // rows)]
    return [Labelled(row["text"], row["label"]) for row in chosen[:rows]]
