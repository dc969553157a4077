"""How far an adversarial row is from anything in the data: whoever watches the inputs of a model would notice it.

Two measures. *Unseen pairs*: pairs of values, at least one of them written by the attacker, that no row of the data has
together, though it has each of them. *Anomaly*: the share of the data's own rows of the class that the row pretends to
be which are more typical of it, see `TypicalRows`. A row with no unseen pair and an anomaly below 0.95 is at least as
typical of the class as one in twenty of the class's own rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.evaluation.typical_rows import TypicalRows
from hammingbox.types import Ids, Labels, RowInt, RowMask

_LARGEST_TABLE = 2**24
"""Cells of the table of a pair of columns; pairs with more are looked up among the sorted codes of the data."""
_FEWEST_ROWS = 20
"""Rows of a class below which nothing can be said about what is normal in it."""
NORMAL = 0.95
"""An anomaly below this is normal."""


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


class SeenPairs:
    """The pairs of values that occur together in some rows.

    Args:
        schema: what the ids mean.
        ids: the rows.
        columns: the columns that count; all by default.
    """

    def __init__(self, schema: Schema, ids: Ids, columns: Sequence[int] | None = None) -> None:
        sizes = schema.cardinalities
        self.columns = tuple(range(len(sizes)) if columns is None else columns)
        self._seen: dict[tuple[int, int], tuple[Bool[Tensor, "codes"] | None, Int64[Tensor, "pairs"]]] = {}
        for one, two in combinations(self.columns, 2):
            codes = (ids[:, one] * sizes[two] + ids[:, two]).unique()
            table = None
            if sizes[one] * sizes[two] <= _LARGEST_TABLE:
                table = torch.zeros(sizes[one] * sizes[two], dtype=torch.bool, device="cpu")
                table[codes] = True
            self._seen[one, two] = table, codes
        self._sizes = sizes
        self._alone = [torch.zeros(size, dtype=torch.bool, device="cpu") for size in sizes]
        for column in self.columns:
            self._alone[column][ids[:, column]] = True

    def unseen(self, x: Ids, written: Ids) -> RowInt:
        """How many pairs of values of each row never occur together, though each value occurs."""
        count = torch.zeros(len(x), dtype=torch.int64, device="cpu")
        changed = x != written
        for (one, two), (table, codes) in self._seen.items():
            touched = changed[:, one] | changed[:, two]
            if not bool(touched.any()):
                continue
            code = written[:, one] * self._sizes[two] + written[:, two]
            known = table[code] if table is not None else torch.isin(code, codes)
            each = self._alone[one][written[:, one]] & self._alone[two][written[:, two]]
            count += (touched & each & ~known).long()
        return count


def plausibility_of(data: Dataset, x: Ids, written: Ids, predicted: Labels) -> Plausibility:
    """How plausible adversarial rows are in the light of data that was not attacked, such as the training rows.

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
    known, labels = data.batch(torch.arange(len(data), device="cpu"))
    return Plausibility(
        SeenPairs(schema, known.long()).unseen(x, written),
        _anomalies(schema, known.long(), labels.long(), written, predicted),
    )


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
