"""One embedding for any schema: columns with vectors of their own for tables, letters and positions for sequences."""

from typing import Literal

import torch
from torch import nn

from hammingbox.errors import InputError
from hammingbox.types import Embedded, Ids

Positions = Literal["own", "added", "none"]


class CategoryEmbedding(nn.Module):
    """Looks categories up.

    Args:
        cardinalities: categories of each feature.
        dim: size of a vector.
        positions: "own" gives every feature vectors of its own (tables). With one alphabet for all features, a
            category has one vector wherever it stands; "added" adds a learned vector of its position to it,
            "none" leaves positions to the rest of the model. None chooses "added" for equal cardinalities and
            "own" for others.

    Raises:
        InputError: features of different cardinalities cannot share vectors.
    """

    offsets: torch.Tensor

    def __init__(self, cardinalities: tuple[int, ...], dim: int, *, positions: Positions | None = None) -> None:
        super().__init__()
        alike = len(set(cardinalities)) == 1
        chosen = positions or ("added" if alike else "own")
        if chosen != "own" and not alike:
            raise InputError(f"expected one alphabet for positions={chosen!r}, got different cardinalities. Use 'own'.")
        sizes = torch.tensor(cardinalities)
        offsets = torch.cumsum(sizes, 0) - sizes if chosen == "own" else torch.zeros_like(sizes)
        self.register_buffer("offsets", offsets, persistent=False)
        self.table = nn.Embedding(int(sizes.sum() if chosen == "own" else sizes[0]), dim)
        self.position = nn.Parameter(0.3 * torch.randn(len(sizes), dim)) if chosen == "added" else None

    def forward(self, ids: Ids) -> Embedded:
        """Vectors of the categories."""
        vectors = self.table(ids + self.offsets)
        return vectors if self.position is None else vectors + self.position
