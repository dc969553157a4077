"""Checks of a data set before anything is attacked: does one column give the label away, or tell rows apart?"""

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Feature
from hammingbox.evaluation.diagnose.data_findings import leaked_label, value_per_row
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.types import Labels, RowInt

LEAKED = 0.99
"""Share of held-out rows that one column alone gets right when it leaks the label."""

_FEWER_ERRORS = 0.1
"""A leaking column makes at most this share of the errors of always answering with the majority class."""

_EVIDENCE = 10
"""Held-out rows outside the majority class that are needed for a verdict."""

_OWN_VALUES = 100
"""Different values from which on a column that tells rows apart is named."""

_COUNTED = 0.9
"""Share of rows, and of the whole numbers in a range, that differ where a column counts the rows."""

_MOST_ROWS, _MOST_CELLS = 20_000, 20_000_000
_ENOUGH_ROWS = 1_000
_BINS = 128
"""A column with more categories is also read in this many groups of neighbours, in case its categories are ordered."""


def diagnose_data(splits: Splits, *, positive: str | None = None) -> list[Finding]:
    """Checks of a data set's rows; the training part suffices where it has a thousand rows.

    Args:
        splits: the rows.
        positive: of several classes, also look for columns that tell this one from all others.
    """
    whole = len(splits.train) >= _ENOUGH_ROWS
    data = splits.train if whole else splits.whole()
    apart, found = _diagnose_values(data), diagnose_leak(data)
    if not found and positive is not None and len(data.schema.classes) > 2:
        found = diagnose_leak(data, of=data.schema.classes.index(positive))
    return [*apart, *found]


def _diagnose_values(data: Dataset) -> list[Finding]:
    """Columns of a table where most rows have a category of their own, and numbers that count the rows."""
    if data.schema.shares_alphabet:
        return []  # positions of a text
    rows = _read_rows(data)
    found = []
    for feature, column in zip(data.schema.features, data.batch(slice(0, rows))[0].T, strict=True):
        if len(feature.categories) > _OWN_VALUES:
            different = len(column.unique())
            if different > max(_OWN_VALUES, rows // 2) and (
                not feature.is_ordered or (different >= _COUNTED * rows and _is_a_count(feature))
            ):
                found.append((feature.name, different))
    return [value_per_row(found, rows)] if found else []


def _is_a_count(feature: Feature) -> bool:
    """Whether nearly every whole number between the smallest and the largest occurs, as where rows were numbered."""
    numbers = feature.numbers[~np.isnan(feature.numbers)]
    whole = feature.kind == "number" and bool((numbers == np.round(numbers)).all())
    return whole and float(numbers[-1] - numbers[0]) < len(numbers) / _COUNTED


def diagnose_leak(data: Dataset, *, of: int | None = None) -> list[Finding]:
    """Columns that alone give the label of held-out rows, or whether it is one class.

    Half of the rows say which class is commonest among the rows of each category; the other half is predicted with
    that. A category that the first half does not have is predicted as the commonest class of all, so an identifier,
    whose values are all different, gives nothing away. At most 20,000 rows are read.
    """
    rows = _read_rows(data)
    ids, labels = data.batch(slice(0, rows))
    labels = labels if of is None else (labels == of).long()
    known, held = slice(0, None, 2), slice(1, None, 2)
    classes = len(data.schema.classes)
    majority = int(torch.bincount(labels[known], minlength=classes).argmax()) if rows else 0
    usual = int((labels[held] == majority).sum())
    tested = len(labels[held])
    if tested - usual < _EVIDENCE:
        return []
    allowed = min((1 - LEAKED) * tested, _FEWER_ERRORS * (tested - usual))
    found = []
    for feature, column in zip(data.schema.features, ids.T.contiguous(), strict=True):
        readings = [column] if len(feature.categories) <= _BINS else [column, _grouped(column, known)]
        right = max(_right(values[known], labels[known], values[held], labels[held], classes, majority)
                    for values in readings)  # fmt: skip
        if tested - right <= allowed:
            found.append((feature.name, right))
    found.sort(key=lambda item: -item[1])
    return [leaked_label(found, tested, usual, of="" if of is None else data.schema.classes[of])] if found else []


def _read_rows(data: Dataset) -> int:
    return min(len(data), _MOST_ROWS, _MOST_CELLS // max(1, data.ids.shape[1]))


def _right(
    values: RowInt, labels: Labels, held: Int64[Tensor, "held"], wanted: Int64[Tensor, "held"], classes: int, usual: int
) -> int:
    """Held-out rows that are right when each value stands for its commonest class."""
    size = 1 + int(torch.cat([values, held]).max())
    counts = torch.bincount(values * classes + labels, minlength=size * classes).reshape(size, classes)
    answers = torch.where(counts.sum(1) > 0, counts.argmax(1), usual)
    return int((answers[held] == wanted).sum())


def _grouped(column: RowInt, known: slice) -> RowInt:
    """Groups of neighbouring ids that hold about equally many of the known rows."""
    ordered = column[known].sort().values
    edges = ordered[torch.arange(1, _BINS, device=column.device) * len(ordered) // _BINS].unique()
    return torch.bucketize(column, edges)
