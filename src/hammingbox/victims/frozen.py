"""Attacks borrow a victim and give it back unchanged, even after an error."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from hammingbox.errors import AttackError


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


@contextmanager
def unchanged(victim: nn.Module) -> Iterator[None]:
    """The block must leave a victim's parameters and buffers as they are.

    Raises:
        AttackError: it did not; they are what they were before.
    """
    before = {name: tensor.detach().clone() for name, tensor in _weights(victim).items()}
    try:
        yield
    finally:
        after = _weights(victim)
        if after.keys() != before.keys() or not all(_same(after[name], before[name]) for name in before):
            with torch.no_grad():
                for name in before.keys() & after.keys():
                    if after[name].shape == before[name].shape:
                        after[name].copy_(before[name])
            raise AttackError(
                "expected the victim's weights to be the same before and after an attack, got other ones. "
                "An attack must not write into a victim, and a victim must not change itself in eval mode."
            )


def _weights(victim: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, also those that a checkpoint leaves out."""
    return {**dict(victim.named_parameters()), **dict(victim.named_buffers())}


def _same(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or bytes_of(a) == bytes_of(b)


def bytes_of(tensor: Tensor) -> bytes:
    """The content of a tensor of any type; NumPy knows no bfloat16."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
