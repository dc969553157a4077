"""Standard training: the average cross entropy on clean rows (empirical risk minimisation)."""

from dataclasses import dataclass

from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class Standard(Defence):
    """No defence. Cost: one forward and one backward pass per row."""

    @property
    def keeps_rules(self) -> bool:
        """It attacks nothing."""
        return True

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:  # noqa: ARG002
        """Cross entropy of the batch."""
        return Step(batch.cross_entropy(victim(batch.x)))
