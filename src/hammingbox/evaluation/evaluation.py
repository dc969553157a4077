"""What an attack did to a data set."""

from dataclasses import dataclass, field
from typing import Any

from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.method import Method
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An attack's result on a data set: rows, and the summary that follows from them."""

    data: Dataset
    threat: ThreatModel
    attack: Method
    seed: int
    rows: Rows
    seconds: float
    victim_digest: str
    goal: Goal = field(default_factory=AnyOther)

    @property
    def accuracy(self) -> Rate:
        """Rows the victim got right before, over all rows."""
        return self.rows.accuracy

    @property
    def success_rate(self) -> Rate:
        """Rows that were broken, over rows that were attacked: right before, and with a goal that is possible."""
        return self.rows.success_rate

    @property
    def robust_error(self) -> Rate:
        """Rows that are wrong with or without the attack, over all rows."""
        return self.rows.robust_error

    @property
    def clean_error(self) -> Rate:
        """Rows that are wrong without an attack, over all rows."""
        return Rate(len(self.rows) - self.accuracy.hits, len(self.rows))

    def summary(self) -> dict[str, Any]:
        """One flat JSON object: rates with their intervals, mean distance of successes, passes and seconds."""
        return {
            "attack": repr(self.attack),
            "data": self.data.name,
            "budget": self.threat.budget,
            "goal": self.goal.to_json(),
            "seed": self.seed,
            **self.rows.summary(),
            "seconds": self.seconds,
        }
