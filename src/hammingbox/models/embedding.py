"""One embedding table for any schema: a part for each feature, or one alphabet shared by all."""

import torch
from torch import nn

from hammingbox.errors import InputError
from hammingbox.types import Embedded, Ids


class CategoryEmbedding(nn.Module):
    """Looks categories up in a table.

    Args:
        cardinalities: categories of each feature.
        dim: size of a vector.
        positional: each feature has vectors of its own; off, equal ids share a vector wherever they stand.

    Raises:
        InputError: features of different cardinalities cannot share vectors.
    """

    offsets: torch.Tensor

    def __init__(self, cardinalities: tuple[int, ...], dim: int, *, positional: bool) -> None:
        super().__init__()
        if not positional and len(set(cardinalities)) > 1:
            raise InputError("expected one alphabet for a model that is not positional, got different cardinalities.")
        sizes = torch.tensor(cardinalities)
        offsets = torch.cumsum(sizes, 0) - sizes if positional else torch.zeros_like(sizes)
        self.register_buffer("offsets", offsets, persistent=False)
        self.table = nn.Embedding(int(sizes.sum() if positional else sizes[0]), dim)

    def forward(self, ids: Ids) -> Embedded:
        """Vectors of the categories."""
        return self.table(ids + self.offsets)
