"""Checks of a data set before anything is attacked: does one column alone give the label away?"""

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.evaluation.diagnose.finding import Finding, leaked_label
from hammingbox.types import Labels, RowInt

LEAKED = 0.99
"""Share of held-out rows that one column alone gets right when it leaks the label."""

_FEWER_ERRORS = 0.1
"""A leaking column makes at most this share of the errors of always answering with the majority class."""

_EVIDENCE = 10
"""Held-out rows outside the majority class that are needed for a verdict."""

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
    found = diagnose_leak(data)
    if not found and positive is not None and len(data.schema.classes) > 2:
        found = diagnose_leak(data, of=data.schema.classes.index(positive))
    return found


def diagnose_leak(data: Dataset, *, of: int | None = None) -> list[Finding]:
    """Columns that alone give the label of held-out rows, or whether it is one class.

    Half of the rows say which class is commonest among the rows of each category; the other half is predicted with
    that. A category that the first half does not have is predicted as the commonest class of all, so an identifier,
    whose values are all different, gives nothing away. At most 20,000 rows are read.
    """
    rows = min(len(data), _MOST_ROWS, _MOST_CELLS // max(1, data.ids.shape[1]))
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
