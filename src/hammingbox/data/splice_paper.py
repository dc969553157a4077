"""Splice with the paper's own 319 test rows; the other shipped sequences are for training.

The 319 rows are those of the paper's attack table. They have no licence file of their own, so they are not shipped:
they come from a file of the user. All other sequences of the shipped data set (see `splice`) are divided into training
and validation rows, so that a model trained on this data set has seen no test sequence.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hammingbox.data import splice
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.delimited import read_rows
from hammingbox.data.fetch import find_file, missing_file
from hammingbox.data.inert_pickle import read_integers
from hammingbox.data.split import SHARES, distinct_rows, random_positions
from hammingbox.errors import FileError

_NAME = "splice_paper"
_CSV, _ROWS, _LABELS = "splice_test.csv", "gene_test_funccall.pickle", "gene_test_label.pickle"
_Numbers = np.ndarray[Any, np.dtype[np.int64]]


def load(*, data_dir: Path | None = None) -> Splits:
    """The paper's test rows in their own order, and training and validation rows without their sequences.

    Args:
        data_dir: a folder with splice_test.csv (with columns label and sequence), or with the two files of the
            authors, gene_test_funccall.pickle and gene_test_label.pickle, which are read without unpickling them.

    Raises:
        FileError: a file is missing or damaged.
    """
    test = _test_rows(data_dir)
    rest = splice.all_rows()
    number = distinct_rows(torch.cat([rest.ids, test.ids]))
    rest = rest.take(~torch.isin(number[: len(rest)], number[len(rest) :]))
    # As `divide` does it: equal sequences stay together, and parts are in random order.
    position, order = random_positions(rest.ids).sort(stable=True)
    training = position < SHARES[0] / sum(SHARES)
    train, validation = (Dataset(splice.SCHEMA, p.ids, p.labels, _NAME, p.numbers) for p in (
        rest.take(order[training]), rest.take(order[~training])
    ))  # fmt: skip
    return Splits(train, validation, test)


def _test_rows(data_dir: Path | None) -> Dataset:
    if path := find_file("splice", [_CSV], data_dir=data_dir):
        ids, labels = _from_csv(path)
    elif (path := find_file("splice", [_ROWS], data_dir=data_dir)) and (
        labels_path := find_file("splice", [_LABELS], data_dir=data_dir)
    ):
        ids, labels = read_integers(path), read_integers(labels_path)
    else:
        raise missing_file(
            "splice",
            [_CSV, f"{_ROWS} with {_LABELS}"],
            data_dir=data_dir,
            why="The paper's test rows have no licence file, so they are not downloaded. ",
        )
    length, letters, classes = len(splice.SCHEMA.features), splice.SCHEMA.cardinalities[0], len(splice.SCHEMA.classes)
    if ids.ndim != 2 or ids.shape[1] != length or labels.shape != (len(ids),):
        raise FileError(
            f"expected rows of {length} bases with one label each in {path}, "
            f"got shapes {ids.shape} and {labels.shape}. Get the file again."
        )
    if not (_inside(ids, letters) and _inside(labels, classes)):
        raise FileError(
            f"expected bases 0..{letters - 1} and labels 0..{classes - 1} in {path}, got other numbers. "
            "Get the file again."
        )
    return Dataset(splice.SCHEMA, torch.from_numpy(ids), torch.from_numpy(labels), _NAME)


def _inside(values: _Numbers, count: int) -> bool:
    return bool(((values >= 0) & (values < count)).all())


def _from_csv(path: Path) -> tuple[_Numbers, _Numbers]:
    lines = [fields for _, fields in read_rows(path)]
    try:
        label, sequence = (lines[0].index(name) for name in ("label", "sequence"))
        ids = [splice.encode(fields[sequence]) for fields in lines[1:]]
        return np.array(ids, dtype=np.int64), np.array([int(fields[label]) for fields in lines[1:]], dtype=np.int64)
    except (ValueError, IndexError) as error:
        raise FileError(
            f"expected a line of column names with label and sequence, then rows of equal length, in {path}, "
            f"got another file ({error}). Get the file again."
        ) from error
