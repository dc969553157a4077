"""Windows for sequences: neighbouring positions lend each other their scores."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hammingbox.errors import InputError
from hammingbox.victims.zoo.windows import Windows

_WINDOW_SHARE = 0.3
"""Scores of windows learn this much more slowly than those of single features, which need fewer rows. Chosen with the
settings of `reproduce certificates`, on training rows."""


class SmoothWindows(Windows):
    """Windows whose scores vary little from one position to the next, and single features with scores of their own.

    A table of scores for every position has too many entries for a few thousand rows: it remembers them. Here the
    scores of a position are its own parameters plus the mean of all positions' parameters under a bell curve of
    standard deviation `spread`, so a motif that may stand a little to the left or to the right is learned from all its
    places. In the end it is one table, so all that holds for `Windows` holds here: its worst case is the same dynamic
    programme.

    Args:
        cardinalities: categories of each feature, the same number for all: they are positions of a sequence.
        classes: number of classes.
        width: features of a window.
        spread: standard deviation of the bell curve, in positions.

    Raises:
        InputError: features differ in their number of categories, the spread is not positive, or what `Windows` raises.
    """

    def __init__(self, cardinalities: tuple[int, ...], classes: int, *, width: int = 2, spread: float = 2.0) -> None:
        super().__init__(cardinalities, classes, width=width)
        if len(set(cardinalities)) > 1:
            raise InputError(
                "expected positions of a sequence, with the same number of categories each, for the model "
                f"smooth_windows, got features of {min(cardinalities)} to {max(cardinalities)}. Use windows."
            )
        if not spread > 0:
            raise InputError(f"expected a spread above 0 for the model smooth_windows, got {spread}.")
        device = self.bias.device
        self.singles = nn.Parameter(torch.zeros(len(cardinalities), cardinalities[0], classes, device=device))
        self.register_buffer("window_mix", _mix(len(cardinalities) - width + 1, spread, device), persistent=False)
        self.register_buffer("single_mix", _mix(len(cardinalities), spread, device), persistent=False)

    window_mix: Float[Tensor, "windows windows"]
    single_mix: Float[Tensor, "features features"]

    def table(self) -> Float[Tensor, "entries classes"]:
        """Scores of windows, with those of single features in the first window that holds them as its first place.

        The last window also has those of the features after its first place.
        """
        windows, (features, categories, classes) = len(self.starts), self.singles.shape
        shape = (windows, *(categories,) * self.width, classes)
        own = (self.window_mix @ self.scores.weight.view(windows, -1)).view(shape) * _WINDOW_SHARE
        singles = (self.single_mix @ self.singles.flatten(1)).view(features, categories, classes)
        total = own + singles[:windows].view(windows, categories, *(1,) * (self.width - 1), classes)
        last = total[-1:]
        for place in range(1, self.width):
            axes = (*(1,) * place, categories, *(1,) * (self.width - 1 - place))
            last = last + singles[windows - 1 + place].view(*axes, classes)
        return torch.cat([total[:-1], last]).view(-1, classes)


def _mix(positions: int, spread: float, device: torch.device) -> Float[Tensor, "positions positions"]:
    """Each position's own parameters, plus the mean of all under a bell curve around it."""
    place = torch.arange(positions, dtype=torch.float64, device=device)
    bell = torch.exp(-0.5 * ((place - place[:, None]) / spread) ** 2)
    return (torch.eye(positions, dtype=torch.float64, device=device) + bell / bell.sum(1, keepdim=True)).float()
