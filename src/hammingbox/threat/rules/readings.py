"""The numbers that rules compute with: those of numbers, dates and booleans, and of categories that read as numbers."""

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.data.schema import Feature
from hammingbox.data.values import MISSING, UNKNOWN, numbers_of

TOLERANCE = 1e-9
"""Relative: 0.1 + 0.2 is 0.3, though floating point says otherwise."""

Reading = Float64[Tensor, "_"]
"""The number of each category of one column; NaN where it has none."""


def reading(feature: Feature) -> Reading:
    """The number of each category of a column; NaN for what is no number.

    A column of few distinct numbers is inferred as a column of categories: its texts are read as numbers.
    """
    numbers = numbers_of(feature.categories, "number") if feature.kind == "category" else feature.numbers
    return torch.from_numpy(np.array(numbers, dtype=np.float64))


def is_numeric(feature: Feature) -> bool:
    """Whether a column can be computed with: every category is a number, but for those of empty and unknown cells."""
    if feature.kind != "category":
        return True
    known = [text for text in feature.categories if text not in (MISSING, UNKNOWN)]
    return bool(known) and not np.isnan(numbers_of(known, "number")).any()


def same(a: Tensor, b: Tensor) -> Tensor:
    """Whether numbers are equal up to `TOLERANCE`."""
    return (a - b).abs() <= TOLERANCE * torch.maximum(a.abs(), b.abs()).clamp(min=1.0)


class NumberIndex:
    """Finds the category of a column that stands for a number."""

    def __init__(self, feature: Feature) -> None:
        numbers = reading(feature)
        known = (~numbers.isnan()).nonzero()[:, 0]
        order = numbers[known].argsort(stable=True)
        self._ids, self._numbers = known[order], numbers[known][order]

    def ids(self, numbers: Float64[Tensor, "*points"]) -> Int64[Tensor, "*points"]:
        """The id of each number; -1 where the column has no such value."""
        if not len(self._ids):
            return torch.full(numbers.shape, -1, dtype=torch.int64, device=numbers.device)
        known, ids = self._numbers.to(numbers.device), self._ids.to(numbers.device)
        right = torch.searchsorted(known, numbers.contiguous()).clamp(max=len(known) - 1)
        left = (right - 1).clamp(min=0)
        nearest = torch.where((known[left] - numbers).abs() <= (known[right] - numbers).abs(), left, right)
        return torch.where(same(known[nearest], numbers), ids[nearest], -1)
