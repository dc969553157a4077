"""A victim is an embedding and a head: anything linear in its first layer can be attacked by gradients.

Four ways in:

- subclass :class:`Victim`;
- :func:`wrap` any module that looks its ids up in an ``nn.Embedding``, its code unchanged;
- :class:`OneHot` for modules that take one-hot or soft rows;
- :class:`BlackBox` for anything that answers ``predict_proba``.
"""

from abc import ABC, abstractmethod
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from hammingbox.errors import VictimError
from hammingbox.types import Embedded, Ids, Logits


class Victim(nn.Module, ABC):
    """A classifier of category ids. It returns logits, never probabilities."""

    has_gradient = True
    name = ""
    """What identifies a victim without parameters or buffers in a record; weights speak for themselves."""

    @abstractmethod
    def embed(self, ids: Ids) -> Embedded:
        """The vector of each feature's category; a feature's vector depends on its own category alone."""

    @abstractmethod
    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """Logits of embedded rows.

        Args:
            embedded: vectors, or mixtures of vectors, for every feature.
            ids: the clean rows the mixtures were made around; a model that masks padding reads it here.
        """

    def forward(self, ids: Ids) -> Logits:
        """Logits of rows."""
        return self.head(self.embed(ids), ids)

    @property
    def device(self) -> torch.device:
        """Where its parameters are, and so where rows must be; the CPU for a victim without any."""
        first = next(chain(self.parameters(), self.buffers()), None)
        return torch.device("cpu") if first is None else first.device


def check_logits(logits: Tensor, rows: int, *, probabilities: bool = False) -> None:
    """Checks that a victim answered with usable logits.

    Args:
        logits: the answer.
        rows: how many rows were asked about.
        probabilities: also refuse what looks like probabilities.

    Raises:
        VictimError: wrong shape, NaN or infinite values, or probabilities.
    """
    if logits.dim() != 2 or logits.shape[0] != rows or logits.shape[1] < 2:
        raise VictimError(f"expected logits of shape ({rows}, classes), got {tuple(logits.shape)}.")
    if not logits.isfinite().all():
        raise VictimError(
            "expected finite logits, got NaN or infinite values. Check the victim's weights and its input ids."
        )
    if probabilities and looks_like_probabilities(logits):
        raise VictimError(
            "expected logits, got rows that are not negative and sum to 1: probabilities. Gradients vanish through a "
            "second softmax; drop the final softmax, or use BlackBox if you cannot."
        )


def looks_like_probabilities(logits: Logits) -> bool:
    """Whether every row is not negative and sums to 1."""
    return bool((logits >= 0).all() and ((logits.sum(1) - 1).abs() < 1e-4).all())


def logits_of(output: Any) -> Logits:
    """The logits in what a module returned: a tensor, or an object with a `logits` attribute.

    Raises:
        VictimError: it is neither.
    """
    answer = getattr(output, "logits", output)
    if not isinstance(answer, Tensor):
        raise VictimError(f"expected the module to return logits, got {type(answer).__name__}.")
    return answer
