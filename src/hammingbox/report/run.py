"""A run as the report sees it: its facts, and its rows as changes to clean rows that a study holds once."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from hammingbox.evaluation.rates import Rate
from hammingbox.report.ragged_pairs import Ragged


@dataclass(frozen=True)
class Facts:
    """What a run is, apart from its rows.

    Attributes:
        victim: the name shown for it.
        attack: its name.
        settings: its repr, which rebuilds it.
        budget: changed features at most.
        seed: of the attack.
        seconds: what the rows took.
        planned: rows the run is to have when it is finished.
        refused: why the run was not made, or "".
        defence: how the victim was trained.
        weights: hash of the victim's weights.
    """

    victim: str
    attack: str
    settings: str
    budget: int
    seed: int
    seconds: float = 0.0
    planned: int = 0
    refused: str = ""
    defence: str = ""
    weights: str = ""


@dataclass(frozen=True, eq=False)
class Run:
    """A run's rows. `place` says which clean row of the study each belongs to."""

    facts: Facts
    place: Int64[np.ndarray, "rows"]
    correct: Bool[np.ndarray, "rows"]
    attacked: Bool[np.ndarray, "rows"]
    success: Bool[np.ndarray, "rows"]
    predicted: Int64[np.ndarray, "rows"]
    distance: Int64[np.ndarray, "rows"]
    forward: Int64[np.ndarray, "rows"]
    backward: Int64[np.ndarray, "rows"]
    stage: Int64[np.ndarray, "rows"]
    changes: Ragged
    after: Ragged

    def __len__(self) -> int:
        return len(self.place)

    @property
    def success_rate(self) -> Rate:
        """Rows that fell, over rows that were attacked."""
        return Rate(int(self.success.sum()), int(self.attacked.sum()))

    @property
    def passes(self) -> float:
        """Forward and backward passes a row that was attacked."""
        return float(self.forward.sum() + self.backward.sum()) / max(1, int(self.attacked.sum()))

    @property
    def seconds(self) -> float:
        """Seconds a row that was attacked."""
        return self.facts.seconds / max(1, int(self.attacked.sum()))
