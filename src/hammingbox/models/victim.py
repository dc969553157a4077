"""A victim is an embedding and a head: anything linear in its first layer can be attacked by gradients.

Four ways in:

- subclass :class:`Victim`;
- :func:`wrap` any module that looks its ids up in an ``nn.Embedding``, its code unchanged;
- :class:`OneHot` for modules that take one-hot or soft rows;
- :class:`BlackBox` for anything that answers ``predict_proba``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, VictimError
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


class OneHot(Victim):
    """A module that takes one-hot (or soft) rows of shape (batch, features, categories).

    Args:
        module: returns logits.
        categories: size of the last axis.
        blank: a category written as a row of zeros, such as padding.
    """

    def __init__(self, module: nn.Module, *, categories: int, blank: int | None = None) -> None:
        super().__init__()
        self.module = module
        self.categories = categories
        table = torch.eye(categories)
        if blank is not None:
            table[blank] = 0.0
        self.register_buffer("table", table)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the identity matrix."""
        return functional.embedding(ids, self.get_buffer("table"))

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """The module itself."""
        return _logits_of(self.module(embedded))


class _EmbeddingSeenError(Exception):
    """Ends a forward pass once the embedding has answered."""


class Wrapped(Victim):
    """See :func:`wrap`."""

    def __init__(self, module: nn.Module, embedding: nn.Embedding) -> None:
        super().__init__()
        self.module = module
        self._embedding = [embedding]  # in a list: it is part of `module` already

    def embed(self, ids: Ids) -> Embedded:
        """What the module's embedding answers for these ids; the rest of the module does not run."""
        seen: list[Tensor] = []

        def stop(_module: nn.Module, _args: Any, output: Tensor) -> None:
            seen.append(output)
            raise _EmbeddingSeenError

        with self._hooked(stop):
            try:
                self.module(ids)
            except _EmbeddingSeenError:
                return self._checked(seen[0], ids)
        raise VictimError(
            "expected the module to look its ids up in the given embedding, got a forward pass that never did."
        )

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """The module on `ids`, with the answer of its embedding replaced."""
        calls = 0

        def replace(_module: nn.Module, _args: Any, _output: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            return embedded

        with self._hooked(replace):
            logits = _logits_of(self.module(ids))
        if calls != 1:
            raise VictimError(
                f"expected the embedding to be used once per forward pass, got {calls} times. Subclass Victim instead."
            )
        return logits

    def forward(self, ids: Ids) -> Logits:
        """The module, untouched."""
        return _logits_of(self.module(ids))

    @contextmanager
    def _hooked(self, hook: Callable[[nn.Module, Any, Tensor], Any]) -> Iterator[None]:
        handle = self._embedding[0].register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    @staticmethod
    def _checked(output: Tensor, ids: Ids) -> Embedded:
        if output.shape[:2] != ids.shape or output.dim() != 3:
            raise VictimError(
                f"expected the embedding to return (batch, features, dim) = ({ids.shape[0]}, {ids.shape[1]}, dim), "
                f"got {tuple(output.shape)}. Subclass Victim for a model that reorders its input."
            )
        return output


def wrap(module: nn.Module, *, embedding: nn.Embedding) -> Victim:
    """Makes a victim of any module that looks its ids up in an embedding, its code unchanged.

    Args:
        module: called with ids (batch, features), returns logits or an object with a `logits` attribute.
        embedding: the ``nn.Embedding`` inside `module`.

    Raises:
        InputError: `embedding` is not an embedding of `module`.
    """
    if not isinstance(embedding, nn.Embedding) or all(embedding is not part for part in module.modules()):
        raise InputError(
            f"expected an nn.Embedding that is part of the module, got {type(embedding).__name__}. "
            "Pass the layer itself, for example embedding=model.embedding."
        )
    return Wrapped(module, embedding)


class BlackBox(Victim):
    """Anything that answers class probabilities: tree ensembles, pipelines, remote models. It has no gradient.

    Args:
        predict_proba: takes rows, returns (rows, classes) probabilities.
        schema: when given, `predict_proba` gets the categories themselves (an array of str), not their ids.
        name: what tells this box from any other, such as a version or a file's hash; a store of results needs it.
    """

    has_gradient = False

    def __init__(
        self, predict_proba: Callable[[np.ndarray[Any, Any]], Any], *, schema: Schema | None = None, name: str = ""
    ) -> None:
        super().__init__()
        self.predict_proba = predict_proba
        self.name = name
        self.schema = schema
        self._words = None if schema is None else [np.array(f.categories, dtype=object) for f in schema.features]

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """A black box has no embedding."""
        raise VictimError("expected a victim with gradients, got a BlackBox. Use an attack that needs losses only.")

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """A black box has no head."""
        raise VictimError("expected a victim with gradients, got a BlackBox. Use an attack that needs losses only.")

    def forward(self, ids: Ids) -> Logits:
        """Log-probabilities in float64: in float32 all confident rows would tie at 1 and a search would go blind."""
        rows = ids.cpu().numpy()
        if self._words is not None:
            rows = np.stack([words[column] for words, column in zip(self._words, rows.T, strict=True)], axis=1)
        answer = np.asarray(self.predict_proba(rows), dtype=np.float64)
        if answer.ndim != 2 or len(answer) != len(ids):
            raise VictimError(f"expected predict_proba to return ({len(ids)}, classes), got shape {answer.shape}.")
        if not np.isfinite(answer).all() or (answer < -1e-6).any() or (abs(answer.sum(1) - 1) > 1e-3).any():
            raise VictimError(
                "expected predict_proba to return probabilities "
                "(finite, not negative, rows summing to 1), got other numbers."
            )
        return torch.from_numpy(np.log(answer.clip(min=1e-300))).to(ids.device)


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


def _logits_of(output: Any) -> Logits:
    answer = getattr(output, "logits", output)
    if not isinstance(answer, Tensor):
        raise VictimError(f"expected the module to return logits, got {type(answer).__name__}.")
    return answer
