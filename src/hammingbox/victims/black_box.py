"""Anything with a ``predict_proba``: it can be queried but has no gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import VictimError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.answers import decided
from hammingbox.victims.victim import Victim


class BlackBox(Victim):
    """Anything that returns class probabilities: tree ensembles, pipelines, remote models. It has no gradient.

    An exact tie goes to the first class, as in a model's own ``predict``. It pickles if `predict_proba` does: a
    function of a module or a method of a fitted model, but not a lambda.

    Args:
        predict_proba: takes rows and returns probabilities of shape (rows, classes).
        schema: if given, `predict_proba` gets the categories themselves (an array of str) instead of their ids.
        name: identifies this model, such as a version or a file's hash; a store of results needs it.
    """

    has_gradient = False

    def __init__(
        self, predict_proba: Callable[[np.ndarray[Any, Any]], Any], *, schema: Schema | None = None, name: str = ""
    ) -> None:
        super().__init__()
        self.predict_proba = predict_proba
        self.name = name
        self.schema = schema
        self._categories = None if schema is None else [np.array(f.categories, dtype=object) for f in schema.features]

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """Raises VictimError: a black box has no embedding."""
        raise VictimError("expected a victim with gradients, got a BlackBox. Use an attack that needs no gradient.")

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Raises VictimError: a black box has no head."""
        raise VictimError("expected a victim with gradients, got a BlackBox. Use an attack that needs no gradient.")

    def forward(self, ids: Ids) -> Logits:
        """Log-probabilities in float64. In float32 all confident rows would tie at 1 and a search would be blind."""
        rows = ids.cpu().numpy().copy()  # whatever predict_proba writes into it is nobody's
        if self._categories is not None:
            rows = np.stack([names[column] for names, column in zip(self._categories, rows.T, strict=True)], axis=1)
        returned = self.predict_proba(rows)
        try:
            probabilities = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise VictimError(
                f"expected predict_proba to return an array of ({len(ids)}, classes), got {type(returned).__name__}."
            ) from error
        if probabilities.ndim != 2 or len(probabilities) != len(ids):
            raise VictimError(
                f"expected predict_proba to return ({len(ids)}, classes), got shape {probabilities.shape}."
            )
        sums = probabilities.sum(1)
        if not np.isfinite(probabilities).all() or (probabilities < -1e-6).any() or (abs(sums - 1) > 1e-3).any():
            raise VictimError(
                "expected predict_proba to return probabilities "
                "(finite, not negative, rows summing to 1), got other numbers."
            )
        return torch.from_numpy(decided(np.log(probabilities.clip(min=1e-300)))).to(ids.device)
