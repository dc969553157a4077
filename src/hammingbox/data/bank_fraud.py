"""Bank Account Fraud (Jesus et al. 2022), reduced and balanced as in Kireev et al. 2023: applications for an account.

The attacker owns the fraudulent applications and wants them accepted. The months before June are for training, June and
July for the test. Two columns of numbers are cut into ten bins of equal width, as there; the credit limit, which is
what a fraud is worth, stays a number. The data has no clear licence, so it is not downloaded. `examples/bank_fraud` has
the published prices as a threat.toml.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.delimited import read_rows
from hammingbox.data.fetch import find_file, missing_file
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import FileError

_FILES = ("bank_fraud.csv.gz", "bank_fraud.csv")
_BINNED = ("name_email_similarity", "zip_count_4w")
_NUMBER = "proposed_credit_limit"
_CATEGORIES = (
    "income", "foreign_request", "device_os", "source", "email_is_free", "keep_alive_session", "phone_home_valid",
    "phone_mobile_valid", "device_distinct_emails_8w", "employment_status", "customer_age",
)  # fmt: skip
_MONTH, _LABEL = "month", "fraud_bool"
_FIRST_TEST_MONTH = 6
_BINS = 10
_CLASSES = ("legitimate", "fraud")
_VALIDATION_SHARE = 8
"""Every eighth row of the training months is for validation."""


def load(*, data_dir: Path | None = None) -> Splits:
    """The applications, split by month.

    Args:
        data_dir: a folder with bank_fraud.csv or bank_fraud.csv.gz.

    Raises:
        FileError: the file is missing or damaged.
    """
    path = find_file("bank_fraud", list(_FILES), data_dir=data_dir)
    if path is None:
        raise missing_file(
            "bank_fraud", list(_FILES), data_dir=data_dir, why="It has no clear licence, so it is not downloaded. "
        )
    columns = _columns(path)
    try:
        months = np.array(columns[_MONTH], dtype=np.int64)
        labels = np.array(columns[_LABEL], dtype=np.int64)
        names = [name for name in columns if name not in (_MONTH, _LABEL)]
        features, ids = zip(*(_encoded(name, columns[name]) for name in names), strict=True)
    except ValueError as error:
        raise FileError(f"expected numbers in {path}, got something else ({error}). Get the file again.") from error
    if set(np.unique(labels)) != {0, 1}:
        raise FileError(f"expected the labels 0 and 1 in {path}, got others. Get the file again.")
    schema = Schema(tuple(features), _CLASSES)
    data = Dataset(schema, torch.from_numpy(np.stack(ids, 1)), torch.from_numpy(labels), "bank_fraud")
    # The file has the legitimate rows first: shuffled once and for all, the first rows of a part are a fair sample.
    order = np.random.default_rng(0).permutation(len(months))
    is_test = months[order] >= _FIRST_TEST_MONTH
    known, test = order[~is_test], order[is_test]
    if not len(known) or not len(test):
        raise FileError(f"expected months before and from {_FIRST_TEST_MONTH} on in {path}, got only some.")
    kept = np.arange(len(known)) % _VALIDATION_SHARE == 0
    parts = (known[~kept], known[kept], test)
    return Splits(*(data.take(torch.from_numpy(part)) for part in parts))


def _columns(path: Path) -> dict[str, list[str]]:
    rows = read_rows(path)
    _, names = next(rows)
    wanted = {*_BINNED, _NUMBER, *_CATEGORIES, _MONTH, _LABEL}
    if set(names) != wanted:
        raise FileError(
            f"expected the columns {', '.join(sorted(wanted))} in {path}, got {', '.join(names):.200}. "
            "Get the file again."
        )
    lines = []
    for line, fields in rows:
        if len(fields) != len(names):
            raise FileError(f"expected {len(names)} fields in line {line} of {path}, got {len(fields)}.")
        lines.append(fields)
    if not lines:
        raise FileError(f"expected rows in {path}, got none. Get the file again.")
    return {name: list(column) for name, column in zip(names, zip(*lines, strict=True), strict=True)}


def _encoded(name: str, values: Sequence[str]) -> tuple[Feature, np.ndarray]:
    """A feature and the ids of its values."""
    if name in _BINNED:
        numbers = np.array(values, dtype=np.float64)
        edges = np.linspace(numbers.min(), numbers.max(), _BINS + 1)
        texts = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
        # A value on an edge belongs to the bin below it, as in the published cut.
        return Feature(name, texts), np.searchsorted(edges[1:-1], numbers, side="left")
    if name in ("device_os", "source", "employment_status"):
        known, ids = np.unique(np.array(values), return_inverse=True)
        return Feature(name, tuple(map(str, known))), ids.reshape(-1)
    numbers = np.array(values, dtype=np.float64).round(6)
    known, ids = np.unique(numbers, return_inverse=True)
    kind = "number" if name == _NUMBER else "category"
    return Feature(name, tuple(f"{value:g}" for value in known), kind), ids.reshape(-1)
