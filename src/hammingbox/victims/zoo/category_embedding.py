"""One embedding for any schema: separate vectors per column for tables, shared vectors and positions for sequences."""

from typing import Literal

import torch
from torch import nn

from hammingbox.errors import InputError
from hammingbox.types import Embedded, Ids

Positions = Literal["own", "added", "none"]


class CategoryEmbedding(nn.Module):
    """Looks up the vectors of categories.

    Args:
        cardinalities: categories of each feature.
        dim: size of a vector.
        positions: "own" gives every feature its own vectors (tables). If all features share one alphabet, a category
            can have one vector for all positions: "added" adds a learned vector of the position to it, "none" leaves
            positions to the rest of the model. None chooses "added" for equal cardinalities and "own" for others.

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
        self.table = nn.Embedding(sum(cardinalities) if chosen == "own" else cardinalities[0], dim)
        device = self.table.weight.device
        sizes = torch.tensor(cardinalities, device=device)
        offsets = torch.cumsum(sizes, 0) - sizes if chosen == "own" else torch.zeros_like(sizes)
        self.register_buffer("offsets", offsets, persistent=False)
        start = 0.3 * torch.randn(len(sizes), dim, device=device) if chosen == "added" else None
        self.position = None if start is None else nn.Parameter(start)

    def forward(self, ids: Ids) -> Embedded:
        """Vectors of the categories."""
        vectors = self.table(ids + self.offsets)
        return vectors if self.position is None else vectors + self.position
