"""A victim is an embedding and a head: a model whose first layer is linear can be attacked by gradients.

`hammingbox.victim` (``victims/of_model.py``) makes one of almost any model. By hand there are four ways:

- subclass :class:`Victim` (this file), as the models in ``victims/zoo/`` do;
- call :func:`hammingbox.wrap` (``victims/wrapped.py``) on any module that looks its ids up in an ``nn.Embedding``; its
  code does not change;
- use :class:`hammingbox.OneHot` (``victims/one_hot.py``) for a module that takes one-hot or soft rows;
- use :class:`hammingbox.BlackBox` (``victims/black_box.py``) for anything with a ``predict_proba``.
"""

import math
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
    """Identifies a victim without parameters or buffers in a record; other victims are identified by their weights."""
    identity = ""
    """Hash of the content of a model that is no torch module; it identifies the victim unless it has a name."""
    notes: tuple[str, ...] = ()
    """What a user should know about how a model of another library is asked."""
    reads_text = False
    """Whether a model is asked with texts, which are written from rows of words or characters."""

    @abstractmethod
    def embed(self, ids: Ids) -> Embedded:
        """The vector of each feature's category. A feature's vector depends on that feature's category only."""

    @abstractmethod
    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """Logits of embedded rows.

        Args:
            embedded: vectors, or mixtures of vectors, for every feature.
            ids: the clean rows that the mixtures belong to; a model that masks padding reads the padding from them.
        """

    def layers(self) -> nn.Sequential | None:
        """The modules that the head applies one after the other, if it does nothing else.

        Certificates that compute with weights need them; None makes a victim opaque to them.
        """
        return None

    def as_trees(self) -> "Victim | None":
        """The same model as a `TreeVictim`, if it is made of trees that this package reads.

        Raises:
            InputError: it is, but as it is asked its trees cannot be read.
        """
        return None

    def forward(self, ids: Ids) -> Logits:
        """Logits of rows."""
        return self.head(self.embed(ids), ids)

    @property
    def device(self) -> torch.device:
        """The device of its parameters, to which rows are moved; the CPU for a victim without any."""
        return device_of(self)


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's first parameter or buffer; the CPU for a module without any."""
    first = next(chain(module.parameters(), module.buffers()), None)
    return torch.device("cpu") if first is None else first.device


def float_type_of(module: nn.Module) -> torch.dtype:
    """The type of a module's first parameter of floating-point numbers; float32 for a module without any."""
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


def ask(victim: Victim, ids: Ids) -> Logits:
    """A victim's answers to rows, without gradients.

    It gets a copy of the rows, and what it returns is copied: it cannot change what others hold, now or later.

    Raises:
        VictimError: it does not return finite logits.
    """
    with torch.no_grad():
        logits = victim(ids.clone())
        check_logits(logits, len(ids))
        return logits.detach().clone()


def check_logits(logits: Any, rows: int, *, probabilities: bool = False) -> None:
    """Checks that a victim returned usable logits.

    Args:
        logits: what it returned.
        rows: how many rows it was given.
        probabilities: also refuse what looks like probabilities.

    Raises:
        VictimError: no tensor of floating-point numbers, wrong shape, NaN or infinite values, or probabilities.
    """
    if not isinstance(logits, Tensor):
        raise VictimError(
            f"expected the victim to return a tensor of logits, got {type(logits).__name__}. Return the logits alone."
        )
    if logits.dim() != 2 or logits.shape[0] != rows or logits.shape[1] < 2:
        raise VictimError(f"expected logits of shape ({rows}, classes), got {tuple(logits.shape)}.")
    if not logits.is_floating_point():
        raise VictimError(f"expected logits as floating-point numbers, got {logits.dtype}. Return scores, not classes.")
    # A sum of finite numbers may overflow, but no sum with NaN or infinite ones is finite.
    if not math.isfinite(logits.sum().item()) and not logits.isfinite().all():
        raise VictimError(
            "expected finite logits, got NaN or infinite values. Check the victim's weights and its input ids."
        )
    if probabilities and looks_like_probabilities(logits):
        raise VictimError(
            "expected logits, got probabilities (rows that are not negative and sum to 1). Gradients vanish through a "
            "second softmax: drop the final softmax, or use BlackBox if you cannot."
        )


def looks_like_probabilities(logits: Logits) -> bool:
    """Whether every row is not negative and sums to 1."""
    return bool((logits >= 0).all() and ((logits.sum(1) - 1).abs() < 1e-4).all())


def logits_of(output: Any) -> Logits:
    """The logits in a module's output: the output itself, or its `logits` attribute.

    Raises:
        VictimError: it is neither.
    """
    logits = getattr(output, "logits", output)
    if not isinstance(logits, Tensor):
        raise VictimError(
            f"expected the module to return a tensor of logits, got {type(logits).__name__}. "
            "Return the logits, or an object with a `logits` attribute."
        )
    return logits
