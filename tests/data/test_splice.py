"""The splice data of the package."""

import csv
from collections import Counter

import torch

from hammingbox.data.dataset import Dataset, Splits
from toys.real_data import DATA, needs

DIGESTS = [
    "b11707f64c8ad7b79abe7b227b37992e72501dd3ae7d56b0d505fd074e077fb5",
    "e5cc8ce825f06f7ed05ffed41ee9079e97844d6054b1dc084a388c8cc5ad4d17",
    "3d002128be35d1c1fa2b5b6bcd5cbd327015ac77f3cf1d17881eb9ffff6d5277",
]


def test_the_split_is_fixed_and_leaks_nothing(splice_splits: Splits) -> None:
    parts = (splice_splits.train, splice_splits.validation, splice_splits.test)
    assert [part.digest for part in parts] == DIGESTS
    sequences = [{tuple(row) for row in part.ids.tolist()} for part in parts]
    assert sum(map(len, parts)) == 3190
    assert sum(map(len, sequences)) == len(set.union(*sequences)) == 3005, "no sequence is in two parts"
    assert Counter(Dataset.join(parts).labels.tolist()) == {0: 768, 1: 1655, 2: 767}
    first = Counter(splice_splits.test.labels[:100].tolist())
    assert min(first[label] for label in range(3)) > 10, "the first rows are a fair sample of all classes"


@needs("splice/splice.csv")
def test_the_rows_equal_the_published_copy(splice_splits: Splits) -> None:
    with (DATA / "splice/splice.csv").open() as file:
        published = Counter((row["sequence"], int(row["label"])) for row in csv.DictReader(file))
    data = Dataset.join([splice_splits.train, splice_splits.validation, splice_splits.test])
    letters = torch.tensor([ord(c) for c in "AGTCN"])[data.ids]
    ours = Counter(
        ("".join(map(chr, row)), label) for row, label in zip(letters.tolist(), data.labels.tolist(), strict=True)
    )
    assert ours == published
