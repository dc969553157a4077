"""What TRADES and ASCC have in common: how far a victim's answer to a changed row is from its answer to the row."""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from hammingbox.types import Logits, RowFloat


def divergence(clean: Logits, answer: Logits) -> RowFloat:
    """KL(clean || answer) of each row."""
    return functional.kl_div(answer.log_softmax(1), clean.log_softmax(1), reduction="none", log_target=True).sum(1)


def under_one_noise(asks: Sequence[Callable[[], Logits]], device: torch.device) -> list[Logits]:
    """Answers of a victim in train mode that all see the same dropout, so that only the rows tell them apart.

    With dropout of its own each answer would differ from the others on unchanged rows too, and a weighty divergence
    would teach the victim to be sure of nothing: TRADES with weight 5 came to answer one class on AG's News.

    Args:
        asks: passes over batches of one shape.
        device: of the victim.
    """
    devices = [] if device.type == "cpu" else [device]
    answers = []
    for ask in asks[:-1]:
        with torch.random.fork_rng(devices=devices):
            answers.append(ask())
    return [*answers, asks[-1]()]  # not taken back: the next step shall see other noise
