"""Vectors of numbers: a learned direction times the standardised value, so that gradients reach numbers too."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from hammingbox.data.values import Numbers
from hammingbox.types import Embedded, Ids


class NumberEmbedding(nn.Module):
    """The vector of a number is ``z * direction + bias`` with z = (value - mean) / deviation; missing has its own.

    Ids index the distinct values of a column. The table of values comes from the schema and is not part of a
    checkpoint, so a trained model reads values that it has never seen.

    Args:
        values: the values of each column by id; NaN where an id stands for no number.
        dim: size of a vector.
    """

    table: Tensor
    offsets: Tensor
    mean: Tensor
    deviation: Tensor
    rows: Tensor

    def __init__(self, values: Sequence[Numbers], dim: int) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.empty(len(values), dim, device="cpu").normal_())
        self.bias = nn.Parameter(torch.empty(len(values), dim, device="cpu").normal_())
        self.missing = nn.Parameter(torch.empty(len(values), dim, device="cpu").normal_())
        # float64: a date has ten digits before its point.
        self.register_buffer("table", torch.from_numpy(np.concatenate(values)), persistent=False)
        sizes = torch.tensor([len(column) for column in values], device="cpu")
        self.register_buffer("offsets", torch.cumsum(sizes, 0) - sizes, persistent=False)
        self.register_buffer("mean", torch.zeros(len(values), dtype=torch.float64, device="cpu"))
        self.register_buffer("deviation", torch.ones(len(values), dtype=torch.float64, device="cpu"))
        self.register_buffer("rows", torch.zeros((), dtype=torch.int64, device="cpu"))

    @torch.no_grad()
    def standardise(self, ids: Ids) -> None:
        """Takes the mean and the standard deviation of each column from training rows.

        Only the first time: a defence that starts from a trained model keeps the scale which its weights are for.
        """
        if self.rows > 0:
            return
        self.rows.fill_(len(ids))
        values = self.table[ids + self.offsets]
        known = ~values.isnan()
        count = known.sum(0).clamp(min=1)
        self.mean.copy_(values.nan_to_num().sum(0) / count)
        spread = (torch.where(known, values - self.mean, 0.0).square().sum(0) / count).sqrt()
        self.deviation.copy_(torch.where(spread > 0, spread, 1.0))

    def forward(self, ids: Ids) -> Embedded:
        """Vectors of the values."""
        values = self.table[ids + self.offsets]
        z = ((values - self.mean) / self.deviation).to(self.direction.dtype)[..., None]
        return torch.where(z.isnan(), self.missing, z.nan_to_num() * self.direction + self.bias)
