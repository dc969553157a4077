"""Padding: models of text mask it, so the logits of a text do not depend on how far its row is padded."""

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.text.vocabulary import PAD
from hammingbox.types import Ids


def is_text(ids: Ids) -> Bool[Tensor, "batch features"]:
    """Positions up to the last token; the first position even in an empty text."""
    return torch.arange(ids.shape[1], device=ids.device) < lengths(ids)[:, None]


def lengths(ids: Ids) -> Int64[Tensor, "batch"]:
    """Tokens of each row, at least 1. Padding comes after the last token."""
    positions = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    return ((ids != PAD) * positions).amax(1).clamp_min(1)
