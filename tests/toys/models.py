"""Small models of every kind that tests share."""

from typing import Any

import numpy as np
import torch
from torch import nn

from hammingbox.data.schema import Schema
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build
from toys import toy_schema

SMALL: dict[str, dict[str, Any]] = {
    "char_cnn": {"channels": 8, "hidden": 8},
    "char_cnn_paper": {"channels": 8, "hidden": 8},
}
"""Settings of models that are large by default."""

_LENGTHS = {"char_cnn": 130, "char_cnn_paper": 130, "word_cnn": 9, "bilstm": 9, "smooth_windows": 6}
"""Models that need one alphabet, with a length that suffices for them."""


def schema_for(model: str) -> Schema:
    """A small schema that a model can read."""
    return toy_schema((5,) * _LENGTHS[model] if model in _LENGTHS else (4, 2, 7))


def small_model(model: str) -> Victim:
    """A small model of a kind, in eval mode."""
    return build(model, schema_for(model), seed=3, **SMALL.get(model, {})).eval()


def some_rows(schema: Schema, rows: int = 6) -> torch.Tensor:
    """Rows that use every category."""
    return torch.stack([torch.arange(rows) % size for size in schema.cardinalities], 1)


class PlainModule(nn.Module):
    """A user's own model for three features of four categories: it masks padding and knows nothing of victims."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.lookup = nn.Embedding(12, 6, padding_idx=0)
            self.dropout = nn.Dropout(0.5)
            self.out = nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.lookup(ids + torch.tensor([0, 4, 8], device=ids.device))
        mask = (ids != 3).unsqueeze(-1)
        return self.out(self.dropout((vectors * mask).sum(1).tanh()))


def fixed_probabilities(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Class probabilities that depend on the first feature only."""
    first = np.asarray(rows)[:, 0].astype(str)
    return np.stack([np.where(first == first[0], 0.7, 0.2), np.where(first == first[0], 0.3, 0.8)], 1)
