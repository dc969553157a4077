"""IPS: sequences of twenty events of Symantec's intrusion prevention system, a data set of the paper.

Only 206 test rows are public. They have no licence, so they are not downloaded, and the meaning of events and classes
is not published: events are the numbers 0..1103, classes the numbers 0..2.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.delimited import read_rows
from hammingbox.data.fetch import find_file, missing_file
from hammingbox.data.inert_pickle import read_integers
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError

SCHEMA = Schema.sequence(20, [str(event) for event in range(1104)], ("0", "1", "2"), prefix="event ")

_CSV, _ROWS, _LABELS = "ips_test.csv", "mal_test_funccall.pickle", "mal_test_label.pickle"
_Numbers = np.ndarray[Any, np.dtype[np.int64]]


def load(*, data_dir: Path | None = None) -> Splits:
    """The public rows as a test set; the training and validation sets are empty, as their rows are not public.

    Args:
        data_dir: a folder with ips_test.csv (row, label, f0..f19), or with the two files of the authors,
            mal_test_funccall.pickle and mal_test_label.pickle, which are read without unpickling them.

    Raises:
        FileError: a file is missing or damaged.
    """
    if path := find_file("ips", [_CSV], data_dir=data_dir):
        ids, labels = _from_csv(path)
    elif (path := find_file("ips", [_ROWS], data_dir=data_dir)) and (
        labels_path := find_file("ips", [_LABELS], data_dir=data_dir)
    ):
        ids, labels = read_integers(path), read_integers(labels_path)
    else:
        raise missing_file(
            "ips",
            [_CSV, f"{_ROWS} with {_LABELS}"],
            data_dir=data_dir,
            why="It has no licence, so it is not downloaded. ",
        )
    if ids.ndim != 2 or ids.shape[1] != 20 or labels.shape != (len(ids),):
        raise FileError(
            f"expected rows of 20 events with one label each in {path}, "
            f"got shapes {ids.shape} and {labels.shape}. Get the file again."
        )
    data = Dataset(SCHEMA, torch.from_numpy(ids), torch.from_numpy(labels), "ips")
    return Splits(data.take(slice(0)), data.take(slice(0)), data)


def _from_csv(path: Path) -> tuple[_Numbers, _Numbers]:
    try:
        rows = [[int(text) for text in fields] for line, fields in read_rows(path) if line > 1]
        table = np.array(rows, dtype=np.int64)
        return table[:, 2:], table[:, 1]
    except (ValueError, IndexError, OverflowError) as error:
        raise FileError(
            f"expected lines of row, label and 20 events as integers in {path}, got another file ({error}). "
            "Get the file again."
        ) from error
