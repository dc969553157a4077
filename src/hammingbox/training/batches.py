"""Batches of training rows."""

import torch
from jaxtyping import Int64
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from hammingbox.victims.victim import Victim


def normalises_batches(victim: Victim) -> bool:
    """Whether a victim in train mode needs at least two rows per batch."""
    return any(isinstance(part, _BatchNorm) for part in victim.modules())


def in_batches(rows: Int64[Tensor, "rows"], size: int, victim: Victim) -> list[Int64[Tensor, "some"]]:
    """Splits rows into batches. For a victim that normalises over batches, a last single row joins the batch before."""
    parts = list(rows.split(size))
    alone = len(parts) > 1 and len(parts[-1]) == 1 < size
    return [*parts[:-2], torch.cat(parts[-2:])] if alone and normalises_batches(victim) else parts
