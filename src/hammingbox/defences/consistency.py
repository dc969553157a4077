"""What TRADES and ASCC have in common: how far a victim's logits for a changed row are from those for the clean row."""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from hammingbox.seeding import borrowed_generators
from hammingbox.types import Logits, RowFloat


def divergence(clean: Logits, changed: Logits) -> RowFloat:
    """KL(clean || changed) of each row."""
    return functional.kl_div(changed.log_softmax(1), clean.log_softmax(1), reduction="none", log_target=True).sum(1)


def logits_to_compare(passes: Sequence[Callable[[], Logits]], device: torch.device, *, one_noise: bool) -> list[Logits]:
    """Logits of a victim in train mode for several versions of a batch.

    With separate dropout noise the logits differ on unchanged rows too, and a large weight on the divergence teaches
    the victim to be unsure of everything: TRADES with weight 5 collapsed to a single class on AG's News.

    Args:
        passes: forward passes over batches of one shape.
        device: of the victim.
        one_noise: all passes see the same dropout noise, so that their logits differ by the rows only.
    """
    if not one_noise:
        return [forward() for forward in passes]
    logits = []
    for forward in passes[:-1]:
        with borrowed_generators(device):
            logits.append(forward())
    return [*logits, passes[-1]()]  # the last pass advances the generators: the next step sees other noise
