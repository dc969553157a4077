"""Victims for attacks: one that records its queries, one that hides its gradient."""

from typing import Any, NamedTuple

import numpy as np
import torch

from hammingbox.data.schema import Schema
from hammingbox.types import Embedded, Ids, Labels, Logits
from hammingbox.victims.ask_alike import BLOCK, LEAST
from hammingbox.victims.black_box import BlackBox
from toys import ToyVictim


class Target(NamedTuple):
    """A victim and rows that it gets right."""

    schema: Schema
    victim: ToyVictim
    x: Ids
    y: Labels


class Recorder(ToyVictim):
    """Records every row that it is queried with outside soft passes. A bias favours class 0, whatever the row."""

    def __init__(self, cardinalities: tuple[int, ...], classes: int = 3, seed: int = 0, *, bias: float = 0.0) -> None:
        super().__init__(cardinalities, classes, seed)
        self.bias = bias
        self.queried: list[Ids] = []

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        logits = super().head(embedded, ids)
        favoured = torch.zeros(logits.shape[1], device=logits.device)
        favoured[0] = self.bias
        return logits + favoured

    def forward(self, ids: Ids) -> Logits:
        self.queried.append(_without_filling(ids).clone())
        return super().forward(ids)


def _without_filling(ids: Ids) -> Ids:
    """Rows of a call without the copies of its first row that only fill it up."""
    others = (ids != ids[:1]).any(1).nonzero()
    return ids[: 1 + int(others.max() if len(others) else 0)] if len(ids) in (LEAST, BLOCK) else ids


def black_box(victim: ToyVictim) -> BlackBox:
    """The same victim behind `predict_proba`."""

    def predict_proba(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with torch.no_grad():
            return victim.eval()(torch.from_numpy(rows)).double().softmax(1).numpy()

    return BlackBox(predict_proba)
