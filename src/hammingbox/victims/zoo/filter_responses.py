"""Text CNNs asked about whole texts: the filters meet every distinct token once.

A convolution over word vectors multiplies the same vectors again and again: a text repeats its words, and the texts
that an attack asks about at once differ in a few words only; characters repeat even more. Here the response of every
filter column to every token is computed once, and a window's output is a sum of looked-up responses. Mixtures of tokens
are not in the table, so gradients take `max_convolution`.
"""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from hammingbox.types import Ids

Vectors = Float[Tensor, "tokens size"]
Filters = Float[Tensor, "channels size width"]
Slots = Int64[Tensor, "batch steps"]
"""The number of each token's vector."""

_TOKENS = 64
"""Per product, always this many, so that a token's responses have the same bits whatever else is asked about."""
_BLOCK = 2**19
"""Numbers of the windows' outputs that are computed at once: 2 MiB, which a core keeps near."""


def distinct_tokens(ids: Ids, count: int) -> tuple[Int64[Tensor, "tokens"], Slots]:
    """The distinct tokens of some texts, and the number of each token of the texts among them.

    Args:
        ids: the texts.
        count: tokens in the vocabulary.
    """
    present = torch.zeros(count, dtype=torch.bool, device=ids.device)
    present[ids] = True
    return present.nonzero()[:, 0], (present.cumsum(0) - 1)[ids]


def max_responses(
    vectors: Vectors,
    slots: Slots,
    weight: Filters,
    bias: Float[Tensor, "channels"],
    allowed: Bool[Tensor, "batch steps"] | None = None,
) -> Float[Tensor, "batch channels"]:
    """The largest output of each filter over the windows of a text, as of `max_convolution`.

    Args:
        vectors: of the tokens.
        slots: the texts, as numbers of vectors.
        weight: filters, as of `nn.Conv1d`.
        bias: of the filters.
        allowed: positions of the text. The others are padding: they add nothing, and no window begins there. Windows
            may reach beyond the end. Without it, every window is a whole one.
    """
    channels, _, width = weight.shape
    nothing = len(vectors) * width
    table = torch.cat([_responses(vectors, weight), vectors.new_zeros(1, channels)])
    first = slots * width
    if allowed is not None:
        first = functional.pad(torch.where(allowed, first, nothing), (0, width - 1), value=nothing)
    windows = first.unfold(1, width, 1)
    entries = (windows + torch.arange(width, device=slots.device)).clamp_max(nothing)
    rows = max(1, _BLOCK // (entries.shape[1] * channels))
    found = []
    for begin in range(0, len(entries), rows):
        here = slice(begin, begin + rows)
        sums = functional.embedding_bag(entries[here].reshape(-1, width), table, mode="sum")
        sums = sums.view(-1, entries.shape[1], channels)
        if allowed is not None:
            sums.masked_fill_(~allowed[here, :, None], -torch.inf)
        found.append(sums.amax(1))
    return torch.cat(found) + bias


def _responses(vectors: Vectors, weight: Filters) -> Float[Tensor, "entries channels"]:
    """Of each column of each filter to each token: one row per token and column."""
    channels, size, width = weight.shape
    columns = weight.permute(1, 2, 0).reshape(size, width * channels)
    padded = functional.pad(vectors, (0, 0, 0, -len(vectors) % _TOKENS))
    products = torch.cat([block @ columns for block in padded.split(_TOKENS)])
    return products[: len(vectors)].reshape(len(vectors) * width, channels)
