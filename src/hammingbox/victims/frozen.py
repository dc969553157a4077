"""A victim is borrowed: it is given back as it was, also after an error."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def frozen_eval(module: nn.Module) -> Iterator[None]:
    """Eval mode without parameter gradients inside the block; modes and flags are restored afterwards.

    Dropout and batch statistics would otherwise leak into an attack's gradients, and parameter gradients into the
    owner's optimiser.
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
