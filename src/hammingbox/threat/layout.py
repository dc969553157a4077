"""The flat axis of options: every (feature, slot) pair of a row, with no padding between cardinalities.

A table with one column of 900 categories and fifty of 3 has 1,050 options, not 51 x 900. Features of equal width
lie side by side, so whatever works feature by feature (softmax, argmax, mixing embeddings) runs on a few
rectangles instead of on scattered segments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from hammingbox.errors import InputError

MOST_OPTIONS = 20_000_000
"""Options of a row: each takes 16 bytes in the layout alone."""


@dataclass(frozen=True)
class Block:
    """A run of features of equal width: options[start : start + count * width] is a (count, width) rectangle."""

    start: int
    count: int
    width: int
    features: Int64[Tensor, "count"]
    """Which features of the row these are."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the slots of each feature lie on the axis of options."""

    widths: Int64[Tensor, "features"]
    starts: Int64[Tensor, "features"]
    """Option of each feature's slot 0."""
    feature_of: Int64[Tensor, "options"]
    slot_of: Int64[Tensor, "options"]
    blocks: tuple[Block, ...]
    rank: Int64[Tensor, "features"] | None
    """Place of each feature among the blocks' features; None when that is its own number."""

    @staticmethod
    def of(widths: Sequence[int], device: torch.device) -> "Layout":
        """The layout of features with these numbers of slots (cached: a layout is a constant of a space).

        Raises:
            InputError: there are more options than memory is likely to hold.
        """
        if sum(widths) > MOST_OPTIONS:
            raise InputError(
                f"expected at most {MOST_OPTIONS:,} options per row (categories of all features together), "
                f"got {sum(widths):,}. Join rare categories, or leave columns out."
            )
        return _build(tuple(widths), device)

    def copy(self) -> "Layout":
        """The same layout with tensors of its own, for whoever may write into them."""
        return Layout(
            widths=self.widths.clone(),
            starts=self.starts.clone(),
            feature_of=self.feature_of.clone(),
            slot_of=self.slot_of.clone(),
            blocks=tuple(replace(block, features=block.features.clone()) for block in self.blocks),
            rank=None if self.rank is None else self.rank.clone(),
        )

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.widths)

    @property
    def options(self) -> int:
        """Number of (feature, slot) pairs."""
        return len(self.feature_of)

    def split(self, flat: Shaped[Tensor, "... options"]) -> list[Shaped[Tensor, "... count width"]]:
        """Views of the options as one rectangle per block."""
        return [flat[..., b.start : b.start + b.count * b.width].unflatten(-1, (b.count, b.width)) for b in self.blocks]

    def map(
        self, flat: Float[Tensor, "... options"], function: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "... options"]:
        """Applies a function of (..., count, width) rectangles, e.g. a softmax over the slots of each feature."""
        parts = [function(rectangle).flatten(-2) for rectangle in self.split(flat)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def reduce(
        self, flat: Shaped[Tensor, "... options"], function: Callable[[Tensor], Tensor]
    ) -> Shaped[Tensor, "... features"]:
        """Reduces the slots of each feature to one value; `function` maps (..., count, width) to (..., count)."""
        parts = [function(rectangle) for rectangle in self.split(flat)]
        joined = parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
        return joined if self.rank is None else joined.index_select(-1, self.rank)

    def argmax(self, flat: Float[Tensor, "... options"]) -> Int64[Tensor, "... features"]:
        """The slot with the largest value in each feature."""
        return self.reduce(flat, lambda rectangle: rectangle.argmax(-1))

    def first(self, flat: Shaped[Tensor, "... options"]) -> Shaped[Tensor, "... features"]:
        """The value of slot 0 of each feature."""
        return flat.index_select(-1, self.starts)

    def spread(self, per_feature: Shaped[Tensor, "... features"]) -> Shaped[Tensor, "... options"]:
        """Repeats a feature's value over its slots."""
        return per_feature.index_select(-1, self.feature_of)

    def one_hot(self, slots: Int64[Tensor, "... features"]) -> Float[Tensor, "... options"]:
        """Weight 1 on the chosen slot of every feature."""
        weights = torch.zeros(*slots.shape[:-1], self.options, device=slots.device)
        return weights.scatter_(-1, self.starts + slots, 1.0)


@lru_cache(maxsize=64)
def _build(widths: tuple[int, ...], device: torch.device) -> Layout:
    width = torch.tensor(widths, dtype=torch.int64, device="cpu")
    order = torch.argsort(width, stable=True)
    sorted_starts = torch.cumsum(width[order], 0) - width[order]
    starts = torch.empty_like(width)
    starts[order] = sorted_starts
    feature_of = torch.repeat_interleave(order, width[order])
    blocks, done, start = [], 0, 0
    for block_width, count in zip(
        *(t.tolist() for t in torch.unique_consecutive(width[order], return_counts=True)), strict=True
    ):
        blocks.append(Block(start, count, block_width, order[done : done + count].to(device)))
        done, start = done + count, start + count * block_width
    natural = bool((order == torch.arange(len(order), device="cpu")).all())
    return Layout(
        widths=width.to(device),
        starts=starts.to(device),
        feature_of=feature_of.to(device),
        slot_of=(torch.arange(len(feature_of), device="cpu") - starts[feature_of]).to(device),
        blocks=tuple(blocks),
        rank=None if natural else torch.argsort(order).to(device),
    )
