"""How far an adversarial row is from anything in the data: whoever watches the inputs of a model would notice it.

Two measures. *Unseen pairs*: pairs of values, at least one of them written by the attacker, that no row of the data has
together, though it has each of them; numbers and dates of many values are taken by range. *Anomaly*: the share of the
data's own rows of the class that the row pretends to be which are more typical of it, see `TypicalRows`. A row with no
unseen pair and an anomaly below 0.95 is at least as typical of the class as one in twenty of the class's own rows.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.seen_pairs import SeenPairs
from hammingbox.evaluation.typical_rows import TypicalRows
from hammingbox.types import Ids, Labels, RowInt, RowMask

_FEWEST_ROWS = 20
"""Rows of a class below which nothing can be said about what is normal in it."""
NORMAL = 0.95
"""An anomaly below this is normal."""
_COMPARED_ROWS = 1000
"""The data's own rows that are looked at for pairs of values that no other row has."""
_MOST_ROWS = 1_000_000
"""Rows that others are compared with."""


@dataclass(frozen=True, eq=False)
class Plausibility:
    """What speaks against adversarial rows.

    Attributes:
        unseen_pairs: pairs of values that no row of the data has together, with at least one of them written.
        anomaly: share of the data's rows of the predicted class that are more typical; NaN where the class has too few
            rows.
    """

    unseen_pairs: RowInt
    anomaly: Float64[Tensor, "batch"]

    @property
    def is_plausible(self) -> RowMask:
        """Rows without an unseen pair that are as normal as 95 % of the data's rows; unknown anomalies do not count."""
        return (self.unseen_pairs == 0) & ~(self.anomaly >= NORMAL)


def plausibility_of(data: Dataset, x: Ids, written: Ids, predicted: Labels) -> Plausibility:
    """How plausible adversarial rows are in the light of data that was not attacked, such as the training rows.

    Of a table with more than a million rows, a million are looked at, evenly spaced.

    Args:
        data: what is normal.
        x: rows before.
        written: rows after.
        predicted: the class that the victim takes each row for.

    Raises:
        InputError: rows of another schema.
    """
    schema = data.schema
    for rows in (x, written):
        schema.check_ids(rows)
    schema.check_labels(predicted, len(x))
    known, labels = _reference_rows(data)
    return Plausibility(
        SeenPairs(schema, known.long()).unseen(x, written),
        _anomalies(schema, known.long(), labels.long(), written, predicted),
    )


def own_rows_with_rare_pairs(data: Dataset) -> Rate:
    """How many of the data's own rows hold a pair of values that no other row holds: what a real row looks like.

    Up to 1,000 rows are looked at, evenly spaced. All pairs of a row count, of an adversarial row only those that the
    attacker wrote, so the comparison is lenient towards the attacker.
    """
    if not len(data):
        return Rate(0, 0)
    known, _ = _reference_rows(data)
    places = _evenly(len(known), _COMPARED_ROWS)
    alone = SeenPairs(data.schema, known).only_there(places)
    return Rate(int(alone.sum()), len(places))


def _reference_rows(data: Dataset) -> tuple[Ids, Labels]:
    """What rows are compared with: all rows, or evenly spaced ones of a very large table."""
    return data.batch(_evenly(len(data), _MOST_ROWS))


def _evenly(rows: int, most: int) -> RowInt:
    if rows <= most:
        return torch.arange(rows, device="cpu")
    return torch.arange(most, device="cpu") * rows // most


def _anomalies(
    schema: Schema,
    known: Int64[Tensor, "known features"],
    labels: Int64[Tensor, "known"],
    written: Ids,
    predicted: Labels,
) -> Float64[Tensor, "batch"]:
    found = torch.full((len(written),), torch.nan, dtype=torch.float64, device="cpu")
    for label in predicted.unique().tolist():
        own, rows = known[labels == label], (predicted == label).nonzero()[:, 0]
        if len(own) >= _FEWEST_ROWS:
            typical = TypicalRows(schema, own.numpy())
            found[rows] = torch.from_numpy(typical.more_typical(written[rows].numpy()))
    return found
