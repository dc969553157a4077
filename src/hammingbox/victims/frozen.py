"""Attacks borrow a victim and give it back unchanged, even after an error."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def frozen_eval(module: nn.Module) -> Iterator[None]:
    """Eval mode and no parameter gradients inside the block; both are restored at its end.

    Otherwise dropout and batch statistics would enter an attack's gradients, and parameter gradients would reach the
    optimiser of the victim's owner.
    """
    modes = [(part, part.training) for part in module.modules()]
    flags = [(parameter, parameter.requires_grad) for parameter in module.parameters()]
    try:
        module.eval()
        for parameter, _ in flags:
            parameter.requires_grad_(False)
        yield
    finally:
        for part, training in modes:
            part.training = training
        for parameter, requires_grad in flags:
            parameter.requires_grad_(requires_grad)
