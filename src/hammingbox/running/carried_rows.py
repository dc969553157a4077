"""Rows that travel with their batch: a table beyond memory is not put where all workers could read it."""

from typing import Any

import numpy as np
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.mapped import is_mapped
from hammingbox.running.run_spec import Places

Arrays = tuple[np.ndarray[Any, np.dtype[Any]], ...]
"""Ids, labels and numbers of some rows, without their schema, which a worker has."""


def is_carried(data: Dataset) -> bool:
    """Whether workers get rows batch by batch: those of a mapped file, whose copy in memory might not fit."""
    return is_mapped(data.ids)


def pack_rows(data: Dataset, places: Places) -> Arrays | None:
    """The rows of a batch as they are sent; None where every worker has the table."""
    if not is_carried(data):
        return None
    rows = data.take(places)
    return rows.ids.numpy(), rows.labels.numpy(), rows.numbers.numpy()


def without_rows(data: Dataset) -> Dataset:
    """What is sent of such a table: schema and name."""
    return data.take(slice(0, 0))


def unpack_rows(data: Dataset, rows: Arrays) -> Dataset:
    """The rows of a batch, given what was sent of their table."""
    # Copied where Ray lends memory that nobody may write to.
    ids, labels, numbers = (torch.from_numpy(part if part.flags.writeable else part.copy()) for part in rows)
    return data.of_checked(ids, labels, numbers)
