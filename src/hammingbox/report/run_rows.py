"""A run as the report holds it: its facts, and its rows as changes to clean rows that a result set holds once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.report.ragged_pairs import Ragged


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What a run is, apart from its rows.

    Attributes:
        victim: the name shown for it.
        attack: the name shown for it, which distinguishes it from the other attacks of the result set.
        name: its name in the table of attacks.
        settings: its repr, which rebuilds it.
        budget: changed features at most.
        seed: of the attack.
        seconds: time spent on the rows.
        planned: rows the run has when it is finished.
        refused: why the attack refused to run, or "".
        defence: how the victim was trained.
        weights: hash of the victim's weights.
    """

    victim: str
    attack: str
    name: str
    settings: str
    budget: int
    seed: int
    seconds: float = 0.0
    planned: int = 0
    refused: str = ""
    defence: str = ""
    weights: str = ""

    @property
    def known_attack(self) -> Attack | None:
        """The attack of the package with this name, for its metadata; None for a user's own attack."""
        return ATTACKS[self.name]() if self.name in ATTACKS else None


@dataclass(frozen=True, eq=False)
class RunRows:
    """A run's rows.

    Attributes:
        facts: what the run is.
        summary: its rates and cost, see `hammingbox.evaluation.rows.Rows.summary`; empty for a run without rows.
        place: which clean row of the result set each row belongs to.
        correct: the victim was right before.
        attacked: the row was attacked.
        broken: the attack met its goal.
        proven: nothing within the budget meets the goal.
        predicted: the class after the attack.
        distance: changed features.
        forward: forward passes.
        backward: backward passes.
        stage: of an ensemble; 0 for an attack of one stage.
        changes: the changed features and what was written there.
        after: the likeliest classes after the attack.
        unseen_pairs: of broken rows: pairs of values that the data never shows together; -1 where nobody noted it, and
            for other rows.
        anomaly: of broken rows: the share of the data's rows of the predicted class that are more typical; NaN where
            it is not known.
        totals: what all rows of the run add up to, where the arrays hold only some of them.
    """

    facts: RunFacts
    summary: Mapping[str, Any]
    place: Int64[np.ndarray, "rows"]
    correct: Bool[np.ndarray, "rows"]
    attacked: Bool[np.ndarray, "rows"]
    broken: Bool[np.ndarray, "rows"]
    proven: Bool[np.ndarray, "rows"]
    predicted: Int64[np.ndarray, "rows"]
    distance: Int64[np.ndarray, "rows"]
    forward: Int64[np.ndarray, "rows"]
    backward: Int64[np.ndarray, "rows"]
    stage: Int64[np.ndarray, "rows"]
    changes: Ragged
    after: Ragged
    unseen_pairs: Int64[np.ndarray, "rows"]
    anomaly: Float64[np.ndarray, "rows"]
    totals: RunTotals | None = None

    @staticmethod
    def empty(facts: RunFacts) -> "RunRows":
        """A run that was refused."""
        numbers, masks = np.empty(0, np.int64), np.empty(0, np.bool_)
        pairs = Ragged(numbers, numbers, numbers)
        return RunRows(
            facts, {}, numbers, *(masks,) * 4, *(numbers,) * 5, changes=pairs, after=pairs,
            unseen_pairs=numbers, anomaly=np.empty(0, np.float64),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.place)

    @property
    def rows(self) -> int:
        """All rows of the run, those included that are not held here."""
        return int(self.summary.get("rows", 0))

    @property
    def hits(self) -> int:
        """Rows that it broke, those included that are not held here."""
        return int(self.summary.get("success", 0))

    @property
    def changed(self) -> int:
        """Changes in the rows that it broke."""
        return int(self.distance[self.broken].sum()) if self.totals is None else self.totals["distance"]

    @property
    def success_rate(self) -> Rate:
        """Broken rows, over attacked rows."""
        return Rate(self.summary["success"], self.summary["attacked"])

    @property
    def passes(self) -> float:
        """Forward and backward passes per attacked row."""
        return float(self.summary["forward"] + self.summary["backward"]) / max(1, self.summary["attacked"])

    @property
    def seconds(self) -> float:
        """Seconds per attacked row."""
        return self.facts.seconds / max(1, int(self.summary["attacked"]))
