"""Anything that answers ``predict_proba``: it can be queried, but has no gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import VictimError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim


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
