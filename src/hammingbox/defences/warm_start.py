"""The last distribution of each training row, kept between epochs as its few likeliest changes."""

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from hammingbox.attacks.distribution import Distribution
from hammingbox.types import OptionFloat


class WarmStart(nn.Module):
    """Remembers, for every training row, the changes its distribution found likeliest, with their log-odds.

    The whole distribution of 38,000 texts of 256 characters would take gigabytes; all but a few of its options are
    where they started. Its buffers go into the checkpoint of a training, so that a resumed run starts as warm.

    Args:
        rows: of the training set.
        kept: changes remembered for a row.
    """

    options: Tensor
    log_odds: Tensor

    def __init__(self, rows: int, kept: int) -> None:
        super().__init__()
        self.register_buffer("options", torch.zeros(rows, kept, dtype=torch.int32))
        self.register_buffer("log_odds", torch.full((rows, kept), -torch.inf, dtype=torch.float16))

    def recall(self, rows: Int64[Tensor, "batch"], start: OptionFloat) -> OptionFloat:
        """A start of log pi in which the remembered changes are as likely as they were left, where that is more.

        Args:
            rows: numbers in the training set.
            start: log pi to begin with otherwise; its clean options are at 0.
        """
        known = self.log_odds[rows].to(start.dtype)
        return start.scatter_reduce(1, self.options[rows].long(), known, "amax")

    def remember(self, rows: Int64[Tensor, "batch"], distribution: Distribution) -> None:
        """Keeps the likeliest changes of a distribution."""
        layout, log_p = distribution.candidates.layout, distribution.log_probabilities
        odds = log_p - layout.spread(layout.first(log_p))
        odds = odds.masked_fill(~distribution.candidates.moves, -torch.inf)
        value, option = odds.topk(min(self.options.shape[1], odds.shape[1]))
        self.options[rows, : option.shape[1]] = option.int()
        # At most even odds: the victim has moved on, and a certain change would leave nothing to explore.
        self.log_odds[rows, : value.shape[1]] = value.clamp(max=0.0).half()
