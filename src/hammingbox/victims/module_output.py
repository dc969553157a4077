"""What a torch module returns, as logits of every class: one logit, a sigmoid or a softmax at the end."""

from typing import Any

import torch
from torch import Tensor

from hammingbox.errors import InputError, VictimError
from hammingbox.types import Logits
from hammingbox.victims.answers import Returns
from hammingbox.victims.victim import looks_like_probabilities

_LEAST = 1e-12
"""Probabilities below this count as this; it keeps logarithms and their gradients finite."""


def class_logits(output: Any, returns: Returns | None) -> Logits:
    """Logits (rows, classes) of a module's output; a single logit z becomes (0, z).

    Args:
        output: a tensor of (rows, classes), (rows, 1) or (rows,), or an object with a `logits` attribute.
        returns: "logits" (also None), "probabilities" or "positive".

    Raises:
        VictimError: it is no tensor of such a shape.
    """
    found = _tensor(output)
    if found.dim() == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.dim() not in (1, 2):
        raise VictimError(f"expected the module to return (rows, classes), got {tuple(found.shape)}.")
    if returns in ("probabilities", "positive"):
        if found.dim() == 1:
            found = torch.stack([1 - found, found], 1)
        return found.clamp(min=_LEAST).log()
    return torch.stack([torch.zeros_like(found), found], 1) if found.dim() == 1 else found


def check_output(output: Any, classes: int, returns: Returns | None) -> None:
    """Checks a module's answers to a few rows.

    Raises:
        InputError: another number of classes, or probabilities where logits are expected.
    """
    raw = _tensor(output)
    logits = class_logits(output, returns)
    if logits.shape[1] != classes:
        raise InputError(
            f"expected a module that answers for the {classes} classes of the table, got {logits.shape[1]}. "
            "Name the label column the module was trained on."
        )
    if returns is not None:
        return
    one = raw.dim() == 1 or raw.shape[1] == 1
    if bool(((raw >= 0) & (raw <= 1)).all()) and _varies(raw) if one else looks_like_probabilities(raw):
        raise InputError(
            "expected logits, got numbers between 0 and 1, which look like probabilities. Return what goes into the "
            "last sigmoid or softmax, or pass returns='probabilities'."
        )


def _tensor(output: Any) -> Tensor:
    """A module's output, or its `logits`, of any shape."""
    found = getattr(output, "logits", output)
    if not isinstance(found, Tensor):
        raise VictimError(
            f"expected the module to return a tensor of logits, got {type(found).__name__}. "
            "Return the logits, or an object with a `logits` attribute."
        )
    return found


def _varies(values: Tensor) -> bool:
    return bool((values != values.flatten()[0]).any())
