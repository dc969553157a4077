"""Text CNNs asked about whole texts: the filters meet every distinct word once.

A convolution over word vectors multiplies the same vectors again and again: a text repeats its words, and the texts
that an attack asks about at once differ in a few words only. Here the response of every filter column to every distinct
word is computed once, and a window's output is a sum of looked-up responses. Mixtures of words are not in the table, so
gradients take `max_convolution`.
"""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from hammingbox.types import Ids

Vectors = Float[Tensor, "words size"]
Filters = Float[Tensor, "channels size width"]
Slots = Int64[Tensor, "batch steps"]
"""The number of each token's word among the distinct words."""

_BLOCK = 64
"""Words per product, always this many, so that a word's responses have the same bits whatever else is asked about."""
_ROWS = 16
"""Rows whose windows are summed at once: their outputs stay in the cache."""


def distinct_words(ids: Ids, count: int) -> tuple[Int64[Tensor, "words"], Slots]:
    """The distinct words of some texts, and each token's number among them.

    Args:
        ids: the texts.
        count: words in the vocabulary.
    """
    present = torch.zeros(count, dtype=torch.bool, device=ids.device)
    present[ids] = True
    return present.nonzero()[:, 0], (present.cumsum(0) - 1)[ids]


def max_responses(
    vectors: Vectors,
    slots: Slots,
    weight: Filters,
    bias: Float[Tensor, "channels"],
    allowed: Bool[Tensor, "batch steps"],
) -> Float[Tensor, "batch channels"]:
    """The largest output of each filter over the windows of a text, as `max_convolution` of the padded vectors.

    Args:
        vectors: of the distinct words.
        slots: the texts, as numbers of distinct words.
        weight: filters, as of `nn.Conv1d`.
        bias: of the filters.
        allowed: positions of the text. The others are padding: they add nothing, and no window begins there.
    """
    channels, _, width = weight.shape
    steps, nothing = slots.shape[1], len(vectors) * width
    table = torch.cat([_responses(vectors, weight), vectors.new_zeros(1, channels)])
    entries = torch.where(allowed, slots * width, nothing)
    windows = functional.pad(entries, (0, width - 1), value=nothing).unfold(1, width, 1)
    columns = torch.where(windows == nothing, nothing, windows + torch.arange(width, device=slots.device))
    found = []
    for rows, here in zip(columns.split(_ROWS), allowed.split(_ROWS), strict=True):
        sums = functional.embedding_bag(rows.reshape(-1, width), table, mode="sum").view(-1, steps, channels)
        found.append(sums.masked_fill(~here[:, :, None], -torch.inf).amax(1))
    return torch.cat(found) + bias


def _responses(vectors: Vectors, weight: Filters) -> Float[Tensor, "entries channels"]:
    """Of each column of each filter to each word: one row per word and column."""
    channels, size, width = weight.shape
    columns = weight.permute(1, 2, 0).reshape(size, width * channels)
    padded = functional.pad(vectors, (0, 0, 0, -len(vectors) % _BLOCK))
    products = torch.cat([block @ columns for block in padded.split(_BLOCK)])
    return products[: len(vectors)].reshape(len(vectors) * width, channels)
