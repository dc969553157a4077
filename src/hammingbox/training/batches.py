"""Batches of training rows, and one step of descent."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from hammingbox.victims.victim import Victim


def normalises_batches(victim: Victim) -> bool:
    """Whether a victim in train mode needs more than one row at a time."""
    return any(isinstance(part, _BatchNorm) for part in victim.modules())


def in_batches(rows: Int64[Tensor, "rows"], size: int, victim: Victim) -> list[Int64[Tensor, "some"]]:
    """Rows in batches; a single row left over joins the last batch of a victim that could not normalise over it."""
    parts = list(rows.split(size))
    alone = len(parts) > 1 and len(parts[-1]) == 1 < size
    return [*parts[:-2], torch.cat(parts[-2:])] if alone and normalises_batches(victim) else parts


def descend(victim: Victim, optimiser: torch.optim.Optimizer, loss: Float[Tensor, ""], clip: float) -> None:
    """One step down a loss, with a gradient of at most a given norm."""
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(victim.parameters(), clip)
    optimiser.step()
