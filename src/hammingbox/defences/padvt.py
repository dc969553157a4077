"""PAdvT: probabilistic adversarial training (Algorithm 2 of the paper)."""

from dataclasses import dataclass

from hammingbox.defences.adversarial_rows import AdversarialRows
from hammingbox.defences.base import Batch, Step
from hammingbox.defences.inner_pcaa import InnerPCAA
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class PAdvT(InnerPCAA, AdversarialRows):
    """Trains on rows drawn from the adversarial distribution that a short PCAA finds for each row of the batch.

    Cost per attacked row: that of :class:`InnerPCAA`, and `n_adv` forward and backward passes for the step.
    """

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """Lines 3 to 9 for one batch."""
        step = super().forward(victim, batch, threat)
        return Step(step.loss, step.notes | {"penalty": self.get_buffer("adapted_penalty").item()})
