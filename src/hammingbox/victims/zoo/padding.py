"""Padding: models of text leave it out, so that a short text has the same logits whatever the length of its row."""

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.types import Ids

PAD = 0
"""The category of padding in every vocabulary of this package."""


def written(ids: Ids) -> Bool[Tensor, "batch features"]:
    """Where rows hold tokens: up to the last one, and the first position even in an empty text."""
    return torch.arange(ids.shape[1], device=ids.device) < lengths(ids)[:, None]


def lengths(ids: Ids) -> Int64[Tensor, "batch"]:
    """Tokens of each row, at least 1; padding comes after the last one."""
    places = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    return ((ids != PAD) * places).amax(1).clamp_min(1)
