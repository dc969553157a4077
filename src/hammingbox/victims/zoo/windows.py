"""Additive over windows of neighbouring features: its worst case is a dynamic programme."""

from math import prod

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from hammingbox.errors import InputError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim

_MOST_ENTRIES = 20_000_000


class Windows(Victim):
    """Every window of `width` neighbouring features has a score for each class and each combination of its categories.

    A row's logits are the sums of the scores of its windows. With width 1 it is linear in the one-hot row.

    Args:
        cardinalities: categories of each feature.
        classes: number of classes.
        width: features of a window.

    Raises:
        InputError: there are fewer features than a window has, or too many combinations.
    """

    starts: Int64[Tensor, "windows"]
    radix: Int64[Tensor, "windows width"]

    def __init__(self, cardinalities: tuple[int, ...], classes: int, *, width: int = 3) -> None:
        super().__init__()
        if not 1 <= width <= len(cardinalities):
            raise InputError(f"expected windows of 1 to {len(cardinalities)} features, got {width}.")
        parts = [cardinalities[i : i + width] for i in range(len(cardinalities) - width + 1)]
        sizes = [prod(part) for part in parts]
        if sum(sizes) * classes > _MOST_ENTRIES:
            raise InputError(
                f"expected at most {_MOST_ENTRIES:,} scores, got {sum(sizes) * classes:,}. Choose narrower windows."
            )
        self.width, self.categories = width, max(cardinalities)
        self.scores = nn.Embedding(sum(sizes), classes)
        nn.init.zeros_(self.scores.weight)
        device = self.scores.weight.device
        self.bias = nn.Parameter(torch.zeros(classes, device=device))
        offsets = [sum(sizes[:i]) for i in range(len(sizes))]
        radix = [[prod(part[j + 1 :]) for j in range(width)] for part in parts]
        self.register_buffer("starts", torch.tensor(offsets, device=device), persistent=False)
        self.register_buffer("radix", torch.tensor(radix, device=device), persistent=False)
        self._cardinalities = cardinalities

    def embed(self, ids: Ids) -> Embedded:
        """One-hot vectors."""
        return functional.one_hot(ids, self.categories).to(self.bias.dtype)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Expected scores if every feature drew its category by its weights: linear in every feature."""
        total: Tensor = self.bias
        table = self.table()
        for window, cardinalities in enumerate(self._windows()):
            weights = embedded[:, window, : cardinalities[0]]
            for place in range(1, self.width):
                following = embedded[:, window + place, : cardinalities[place]]
                weights = (weights[:, :, None] * following[:, None, :]).flatten(1)
            begin = int(self.starts[window])
            total = total + weights @ table[begin : begin + weights.shape[1]]
        return total

    def forward(self, ids: Ids) -> Logits:
        """The same for rows, by look-up."""
        return functional.embedding(self.places(ids), self.table()).sum(1) + self.bias

    def table(self) -> Float[Tensor, "entries classes"]:
        """The scores of all combinations of all windows, one window after the other."""
        return self.scores.weight

    def places(self, ids: Ids) -> Int64[Tensor, "batch windows"]:
        """Which row of the table each window of a row has."""
        return self.starts + (ids.unfold(1, self.width, 1) * self.radix).sum(2)

    def window_scores(self, window: int, ids: Int64[Tensor, "batch ... width"]) -> Float[Tensor, "batch ... classes"]:
        """Scores of combinations of categories of one window."""
        return functional.embedding((ids * self.radix[window]).sum(-1) + self.starts[window], self.table())

    def _windows(self) -> list[tuple[int, ...]]:
        count = len(self._cardinalities) - self.width + 1
        return [self._cardinalities[i : i + self.width] for i in range(count)]
