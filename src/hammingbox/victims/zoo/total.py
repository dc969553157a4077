"""The first layer of models that are linear in one-hot rows: the vectors of all features, added up."""

import torch
from torch import Tensor, nn

from hammingbox.types import Embedded


class Total(nn.Module):
    """Adds up the vectors of a row's features, and a bias.

    Args:
        dim: size of a vector.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim, device="cpu"))

    def forward(self, embedded: Embedded) -> Tensor:
        """Sums, shape (batch, dim)."""
        return embedded.sum(1) + self.bias
