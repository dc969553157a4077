"""The shipped data."""

import csv
import os
from collections import Counter
from pathlib import Path

import pytest
import torch

from hammingbox import Dataset
from hammingbox.data.schema import Splits


def test_the_split_is_fixed_and_leaks_nothing(splice_splits: Splits) -> None:
    parts = (splice_splits.train, splice_splits.validation, splice_splits.test)
    sequences = [{tuple(row) for row in part.ids.tolist()} for part in parts]
    assert sum(map(len, parts)) == 3190
    assert sum(map(len, sequences)) == len(set.union(*sequences)) == 3005, "no sequence stands on two sides"
    assert Counter(Dataset.join(parts).labels.tolist()) == {0: 768, 1: 1655, 2: 767}
    assert splice_splits.test.digest == "3d002128be35d1c1fa2b5b6bcd5cbd327015ac77f3cf1d17881eb9ffff6d5277"
    first = Counter(splice_splits.test.labels[:100].tolist())
    assert min(first.values()) > 10, "the first rows are a fair sample of all classes"


def test_equals_the_published_copy(splice_splits: Splits) -> None:
    folder = os.environ.get("HAMMINGBOX_DATA")
    if not folder or not (Path(folder) / "splice/splice.csv").exists():
        pytest.skip("set HAMMINGBOX_DATA to a folder with splice/splice.csv to compare with the published copy")
    with (Path(folder) / "splice/splice.csv").open() as file:
        published = Counter((row["sequence"], int(row["label"])) for row in csv.DictReader(file))
    data = Dataset.join([splice_splits.train, splice_splits.validation, splice_splits.test])
    letters = torch.tensor([ord(c) for c in "AGTCN"])[data.ids]
    ours = Counter(
        ("".join(map(chr, row)), label) for row, label in zip(letters.tolist(), data.labels.tolist(), strict=True)
    )
    assert ours == published
