"""One embedding for any schema: letters and positions for sequences, columns of their own for tables."""

import torch
from torch import nn

from hammingbox.types import Embedded, Ids


class CategoryEmbedding(nn.Module):
    """Looks categories up.

    Args:
        cardinalities: categories of each feature.
        dim: size of a vector.
        shared: all features have one alphabet. A letter then has one vector wherever it stands, and its position's
            vector is added to it; otherwise every feature has vectors of its own.
    """

    offsets: torch.Tensor

    def __init__(self, cardinalities: tuple[int, ...], dim: int, *, shared: bool) -> None:
        super().__init__()
        sizes = torch.tensor(cardinalities)
        offsets = torch.zeros_like(sizes) if shared else torch.cumsum(sizes, 0) - sizes
        self.register_buffer("offsets", offsets, persistent=False)
        self.table = nn.Embedding(int(sizes[0] if shared else sizes.sum()), dim)
        self.position = nn.Parameter(0.3 * torch.randn(len(sizes), dim)) if shared else None

    def forward(self, ids: Ids) -> Embedded:
        """Vectors of the categories."""
        vectors = self.table(ids + self.offsets)
        return vectors if self.position is None else vectors + self.position
