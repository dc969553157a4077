"""A tree ensemble as a victim: it works on ids directly, so an attack needs no frames and no encoder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hammingbox.data.schema import Schema
from hammingbox.errors import VictimError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.trees.columns import Column, Encoder
from hammingbox.victims.trees.ensemble import TreeEnsemble
from hammingbox.victims.trees.read_model import read_model
from hammingbox.victims.victim import Victim

_LOOKUPS = 4_000_000
"""Nodes that are looked up at once: (rows, trees) of 32 MB."""

_NO_GRADIENT = "expected a victim with gradients, got a TreeVictim. Use an attack that needs no gradient."


class TreeVictim(Victim):
    """A tree ensemble over category ids. It has no gradient. See :func:`tree_victim`.

    Its arrays are buffers: a record identifies it by them, and it moves to other devices.

    Args:
        ensemble: the trees.
    """

    has_gradient = False

    def __init__(self, ensemble: TreeEnsemble) -> None:
        super().__init__()
        self.ensemble = ensemble
        for name in ("roots", "feature", "offset", "left", "right", "values", "table", "base"):
            self.register_buffer(name, torch.from_numpy(getattr(ensemble, name)))
        # The link decides what the sums mean, so it is part of what identifies the victim.
        self.register_buffer("is_probability", torch.tensor(ensemble.link == "probabilities", device="cpu"))

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """Raises VictimError: trees have no embedding."""
        raise VictimError(_NO_GRADIENT)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Raises VictimError: trees have no head."""
        raise VictimError(_NO_GRADIENT)

    def forward(self, ids: Ids) -> Logits:
        """The scores in float64, or the logarithms of the probabilities of a forest. Their softmax is the answer."""
        sums = self.sums(ids)
        if self.ensemble.link == "scores":
            return sums
        return (sums / sums.sum(1, keepdim=True)).clamp(min=1e-300).log()

    def as_trees(self) -> "TreeVictim":
        """Itself."""
        return self

    def sums(self, ids: Ids) -> Float[Tensor, "batch classes"]:
        """The sums over the trees, without the link."""
        step = max(1, _LOOKUPS // self.ensemble.trees)
        return torch.cat([self._sums(part) for part in ids.split(step)]) if len(ids) > step else self._sums(ids)

    def _sums(self, ids: Ids) -> Float[Tensor, "batch classes"]:
        feature, offset, table = self.get_buffer("feature"), self.get_buffer("offset"), self.get_buffer("table")
        left, right = self.get_buffer("left"), self.get_buffer("right")
        node = self.get_buffer("roots").expand(len(ids), -1)
        for _ in range(self.ensemble.depth):
            goes_left = table[offset[node] + ids.gather(1, feature[node])]
            node = torch.where(goes_left, left[node], right[node])
        return functional.embedding_bag(node, self.get_buffer("values"), mode="sum") + self.get_buffer("base")


def tree_victim(
    model: Any,
    schema: Schema,
    *,
    columns: Sequence[Column] | None = None,
    encode: Encoder | None = None,
) -> TreeVictim:
    """A model of XGBoost, LightGBM or scikit-learn as a fast victim over ids, which `TreeSearch` can certify.

    Compare it with the library on rows of your own before you rely on it: see :func:`check_agreement`.

    Args:
        model: the fitted model, or the path of its file.
        schema: what the ids mean; its classes are those of the model, in the model's order.
        columns: what the model's columns hold for each category; read from the model by default.
        encode: instead of `columns`, the function that encodes rows of ids (rows, features) for the model.

    Raises:
        InputError: the model is of another kind, or does not fit the schema.
        FileError: a model file is missing or damaged.
    """
    return TreeVictim(read_model(model, schema, columns=columns, encode=encode))


def check_agreement(victim: Victim, ids: Ids, probabilities: Any, *, tolerance: float = 1e-4) -> None:
    """Checks that a victim answers rows as the library's own model does.

    Args:
        victim: the victim.
        ids: rows.
        probabilities: what the library's `predict_proba` says about these rows.
        tolerance: the largest difference of two probabilities that rounding explains (XGBoost adds in float32).

    Raises:
        VictimError: they differ.
    """
    expected = torch.as_tensor(np.asarray(probabilities, dtype=np.float64), device=ids.device)
    with torch.no_grad():
        answered = victim(ids).double().softmax(1)
    if answered.shape != expected.shape:
        raise VictimError(f"expected probabilities of shape {tuple(answered.shape)}, got {tuple(expected.shape)}.")
    worst = (answered - expected).abs().amax(1)
    if not bool((worst <= tolerance).all()):
        row = int(worst.nan_to_num(nan=torch.inf).argmax())
        raise VictimError(
            f"expected the trees to answer as their library does, got probabilities that differ by "
            f"{float(worst[row]):.3g} in row {row}. Pass columns=... or encode=... as the model was trained."
        )
