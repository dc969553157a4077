"""The character CNN of Zhang, Zhao and LeCun (2015), in the paper's size and in a size for two CPU cores."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from hammingbox.errors import InputError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.filter_responses import max_responses
from hammingbox.victims.zoo.max_convolution import max_convolution, weights_of

PAPER: dict[str, Any] = {"depth": 6, "dim": None, "channels": 256, "hidden": 1024, "dropout": 0.5, "blanked": 0.0}
"""Zhang's model: one-hot rows of 1014 characters, six convolutions of 256 channels, dense layers of 1024."""

_KERNELS, _POOLS = (7, 7, 3, 3, 3, 3), (3, 3, 1, 1, 1, 3)


class CharCNN(Victim):
    """Convolutions of widths 7, 7, 3, 3, 3, 3 with pooling by three after the first, second and last; dense layers.

    With all six convolutions it is Zhang's model, whose dense layers see every position. The weights are initialised
    as by He et al., because nine rectified layers hardly learn from Zhang's small Gaussians.

    The defaults are the size for two CPU cores. In trials on the 38,130 available texts, six narrow convolutions (64
    channels, with batch normalisation) fitted the training texts but stayed below 80 % on others. The default
    therefore keeps the first convolution only, and its dense layers see the maximum of each channel over the text. A
    learned vector per character replaces one-hot rows, which would make that convolution four times as expensive. The
    blank is category 0 and a vector of zeros in both sizes.

    Args:
        cardinalities: categories of each feature, all equal.
        classes: number of classes.
        depth: how many of the six convolutions; with fewer than six the dense layers see maxima over the text.
        dim: size of a character's vector; None for one-hot rows.
        channels: of the convolutions.
        hidden: size of the dense layers.
        dropout: before and after the dense layers, in training.
        blanked: share of characters that are blanked in training.

    Raises:
        InputError: the rows are too short for the poolings or use several alphabets, or the depth is out of range.
    """

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        classes: int,
        *,
        depth: int = 1,
        dim: int | None = 16,
        channels: int = 192,
        hidden: int = 256,
        dropout: float = 0.3,
        blanked: float = 0.1,
    ) -> None:
        super().__init__()
        if not 1 <= depth <= len(_KERNELS):
            raise InputError(f"expected a depth of 1..{len(_KERNELS)} convolutions, got {depth}.")
        steps = len(cardinalities)
        for kernel, pool in zip(_KERNELS[:depth], _POOLS, strict=False):
            steps = (steps - kernel + 1) // pool
        if steps < 1 or len(set(cardinalities)) > 1:
            raise InputError(
                f"expected longer rows over one alphabet for a character CNN of {depth} convolutions, "
                f"got {len(cardinalities)} features of {len(set(cardinalities))} alphabets. Use the model cnn or mlp."
            )
        letters = cardinalities[0]
        self.embedding = nn.Embedding(letters, dim or letters, padding_idx=0)
        if dim is None:
            one_hot = torch.eye(letters, device=self.embedding.weight.device)
            self.embedding.weight = nn.Parameter(one_hot, requires_grad=False)
            self.embedding.weight[0] = 0.0
        self.blanking = nn.Dropout1d(blanked)
        sizes = [dim or letters] + [channels] * (depth - 1)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, channels, kernel) for size, kernel in zip(sizes, _KERNELS[:depth], strict=True)
        )
        self.every_position = depth == len(_KERNELS)
        seen = channels * (steps if self.every_position else depth)
        self.output = nn.Sequential(
            # Maxima of rectified values are large and similar; normalised, they are learned from at once.
            *([nn.Flatten()] if self.every_position else [nn.BatchNorm1d(seen), nn.Dropout(dropout)]),
            nn.Linear(seen, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            *([nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout)] if self.every_position else []),
            nn.Linear(hidden, classes),
        )
        for part in self.modules():
            if isinstance(part, nn.Conv1d | nn.Linear) and part.bias is not None:
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
                nn.init.zeros_(part.bias)

    def embed(self, ids: Ids) -> Embedded:
        """Vectors of the characters."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Convolutions over characters, then a classifier."""
        signal = self.blanking(embedded).transpose(1, 2)
        maxima = []
        for convolution, pool in zip(self.convolutions, _POOLS, strict=False):
            if convolution is self.convolutions[-1] and not self.every_position:
                # The maximum over the text equals the maximum of the pooled values, so pooling is skipped.
                weight, bias = weights_of(convolution)
                steps = signal.transpose(1, 2)[:, : _pooled_steps(signal.shape[2], weight.shape[2], pool)]
                maxima.append(max_convolution(steps, weight, bias).relu())
                break
            signal = convolution(signal)
            if pool > 1:
                signal = functional.max_pool1d(signal, pool)
            signal = signal.relu()  # after pooling: the same values for a third of the work
            maxima.append(signal.amax(2))
        return self.output(signal if self.every_position else torch.cat(maxima, 1))

    def forward(self, ids: Ids) -> Logits:
        """Logits of rows; on a CPU several times faster where neither dropout nor gradients are needed."""
        queried = not self.training and not torch.is_grad_enabled() and ids.device.type == "cpu"
        if not queried or len(self.convolutions) > 1 or not len(ids):
            return super().forward(ids)
        weight, bias = weights_of(self.convolutions[0])
        steps = ids[:, : _pooled_steps(ids.shape[1], weight.shape[2], _POOLS[0])]
        return self.output(max_responses(self.embedding.weight, steps, weight, bias).relu())


def _pooled_steps(steps: int, width: int, pool: int) -> int:
    """How many steps the pooling of a convolution's output looks at: those of whole pools."""
    return (steps - width + 1) // pool * pool + width - 1
