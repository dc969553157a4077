"""One embedding for any schema: separate vectors per column for tables, shared vectors and positions for sequences."""

from typing import Literal

import torch
from torch import Tensor, nn

from hammingbox.data.dataset import Dataset
from hammingbox.data.values import Numbers
from hammingbox.errors import InputError
from hammingbox.types import Embedded, Ids
from hammingbox.victims.zoo.number_embedding import NumberEmbedding

Positions = Literal["own", "added", "none"]
ColumnNumbers = tuple[Numbers | None, ...]
"""The values of each feature by id; None for a feature of categories, and no entry at all if all features are."""


class CategoryEmbedding(nn.Module):
    """Looks up the vectors of categories, and computes those of numbers.

    Args:
        cardinalities: categories of each feature.
        dim: size of a vector.
        positions: "own" gives every feature its own vectors (tables). If all features share one alphabet, a category
            can have one vector for all positions: "added" adds a learned vector of the position to it, "none" leaves
            positions to the rest of the model. None chooses "added" for equal cardinalities and "own" for others.
        values: of features that are numbers, see `NumberEmbedding`.

    Raises:
        InputError: features of different cardinalities, or numbers and categories, cannot share vectors.
    """

    offsets: Tensor
    columns: Tensor
    place: Tensor

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        dim: int,
        *,
        positions: Positions | None = None,
        values: ColumnNumbers = (),
    ) -> None:
        super().__init__()
        alike = len(set(cardinalities)) == 1 and not values
        chosen = positions or ("added" if alike else "own")
        if chosen != "own" and not alike:
            raise InputError(f"expected one alphabet for positions={chosen!r}, got different cardinalities. Use 'own'.")
        counted = tuple(
            0 if values and values[i] is not None else size for i, size in enumerate(cardinalities)
        )  # a number has no row in the table
        self.table = nn.Embedding(sum(counted) if chosen == "own" else counted[0], dim)
        device = self.table.weight.device
        sizes = torch.tensor(counted, device=device)
        offsets = torch.cumsum(sizes, 0) - sizes if chosen == "own" else torch.zeros_like(sizes)
        start = 0.3 * torch.randn(len(sizes), dim, device=device) if chosen == "added" else None
        self.position = None if start is None else nn.Parameter(start)
        self.numbers: NumberEmbedding | None = None
        if values:
            numbers = [i for i, column in enumerate(values) if column is not None]
            others = [i for i, column in enumerate(values) if column is None]
            self.numbers = NumberEmbedding([column for column in values if column is not None], dim)
            # Categories and numbers are embedded apart; `place` brings their vectors back into the order of features.
            self.register_buffer("columns", torch.tensor([*others, *numbers], device=device), persistent=False)
            self.register_buffer("place", torch.argsort(self.columns), persistent=False)
            offsets = offsets[others]
        self.register_buffer("offsets", offsets, persistent=False)

    def standardise(self, ids: Ids) -> None:
        """Takes the scale of numbers from training rows; without numbers, nothing."""
        if self.numbers is not None:
            self.numbers.standardise(ids[:, self.columns[len(self.offsets) :]])

    def forward(self, ids: Ids) -> Embedded:
        """Vectors of the categories and numbers."""
        if self.numbers is not None:
            categories, numbers = ids[:, self.columns].tensor_split([len(self.offsets)], dim=1)
            vectors = torch.cat([self.table(categories + self.offsets), self.numbers(numbers)], 1)
            return vectors[:, self.place]
        vectors = self.table(ids + self.offsets)
        return vectors if self.position is None else vectors + self.position


def standardise_numbers(victim: nn.Module, rows: Dataset) -> None:
    """Takes the scale of a new victim's numbers from its training rows; other victims stay as they are."""
    for part in victim.modules():
        if isinstance(part, CategoryEmbedding) and part.numbers is not None:
            part.standardise(rows.batch(slice(None), part.numbers.mean.device)[0])
