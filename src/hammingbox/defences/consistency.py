"""What TRADES and ASCC have in common: how far a victim's answer to a changed row is from its answer to the row."""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from hammingbox.types import Logits, RowFloat


def divergence(clean: Logits, answer: Logits) -> RowFloat:
    """KL(clean || answer) of each row."""
    return functional.kl_div(answer.log_softmax(1), clean.log_softmax(1), reduction="none", log_target=True).sum(1)


def answers_to_compare(asks: Sequence[Callable[[], Logits]], device: torch.device, *, one_noise: bool) -> list[Logits]:
    """Answers of a victim in train mode to several forms of a batch.

    With dropout of its own each answer differs from the others on unchanged rows too, and a weighty divergence
    teaches the victim to be sure of nothing: TRADES with weight 5 came to answer one class on AG's News.

    Args:
        asks: passes over batches of one shape.
        device: of the victim.
        one_noise: all passes see the same dropout, so that the rows tell their answers apart.
    """
    if not one_noise:
        return [ask() for ask in asks]
    devices = [] if device.type == "cpu" else [device]
    answers = []
    for ask in asks[:-1]:
        with torch.random.fork_rng(devices=devices):
            answers.append(ask())
    return [*answers, asks[-1]()]  # not taken back: the next step shall see other noise
