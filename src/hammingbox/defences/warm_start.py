"""The last distribution of each training row, kept between epochs as its few most likely changes."""

import torch
from jaxtyping import Float16, Int32, Int64
from torch import Tensor, nn

from hammingbox.attacks.distribution import Distribution
from hammingbox.types import OptionFloat


class WarmStart(nn.Module):
    """Remembers the most likely changes of every training row, with their log-odds.

    The full distributions of 38,000 texts of 256 characters would take gigabytes, and all but a few options stay where
    they started. The buffers are part of the state of a training, so a resumed run has the same memory.

    Args:
        rows: size of the training set.
        kept: changes remembered per row.
        device: of the victim.
    """

    options: Tensor
    log_odds: Tensor

    def __init__(self, rows: int, kept: int, device: torch.device) -> None:
        super().__init__()
        self.register_buffer("options", torch.zeros(rows, kept, dtype=torch.int32, device=device))
        self.register_buffer("log_odds", torch.full((rows, kept), -torch.inf, dtype=torch.float16, device=device))

    def recall(self, rows: Int64[Tensor, "batch"], start: OptionFloat) -> OptionFloat:
        """Log pi to start from: that of the remembered changes where it is larger, `start` elsewhere.

        Args:
            rows: numbers in the training set.
            start: log pi without a memory; its clean options are at 0.
        """
        known = self.log_odds[rows].to(start.dtype)
        return start.scatter_reduce(1, self.options[rows].long(), known, "amax")

    def most_likely(self, distribution: Distribution) -> dict[str, Tensor]:
        """The most likely changes of each row, as `options`, with their `log_odds`."""
        layout, log_p = distribution.candidates.layout, distribution.log_probabilities
        odds = log_p - layout.spread(layout.first(log_p))
        odds = odds.masked_fill(~distribution.candidates.moves, -torch.inf)
        value, option = odds.topk(min(self.options.shape[1], odds.shape[1]))
        # At most even odds: the victim changes, and a start that is certain of a change would explore nothing else.
        return {"options": option.int(), "log_odds": value.clamp(max=0.0).half()}

    def remember(
        self, rows: Int64[Tensor, "batch"], options: Int32[Tensor, "batch some"], odds: Float16[Tensor, "batch some"]
    ) -> None:
        """Stores the most likely changes of rows, given by their numbers in the training set."""
        self.options[rows, : options.shape[1]] = options
        self.log_odds[rows, : odds.shape[1]] = odds
