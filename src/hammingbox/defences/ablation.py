"""Ablation training: a model that is to vote over ablated rows must have seen such rows."""

from dataclasses import dataclass
from typing import ClassVar

from torch.nn import functional

from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.seeding import RowRandom
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.ablated import ablated_logits, kept_at_random
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class AblationTraining(Defence):
    """Cross entropy of rows of which the model sees `keep` random features: the training of `hb.Ablated` classifiers.

    The trained model is the one that votes: certify `hb.Ablated(victim, keep)`, not the model itself. The threat's
    budget does not enter. Validation accuracy during training is that of the model on whole rows, so the last epoch is
    as good a choice as the best: take a constant number of epochs and the criterion "clean" with a large patience.

    Cost: one forward and one backward pass per draw.

    Attributes:
        keep: features that stay visible.
        draws: ablations of every row per step.
        mask: the category that is written over hidden features; the zero vector without it.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("mask",)

    keep: int = 10
    draws: int = 1
    mask: int | None = None

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:  # noqa: ARG002
        """Cross entropy of ablated rows."""
        features = batch.x.shape[1]
        noise = RowRandom.for_rows(batch.seed, batch.x).uniform(self.draws, features).flatten(0, 1)
        ids = batch.x.repeat_interleave(self.draws, 0)
        y = batch.y.repeat_interleave(self.draws, 0)
        kept = kept_at_random((len(ids), features), self.keep, noise)
        logits = ablated_logits(victim, ids, kept, self.mask)
        right = (logits.detach().argmax(1) == y).float().mean().item()
        losses = functional.cross_entropy(logits, y, reduction="none").view(-1, self.draws).mean(1)
        return Step(batch.weighted(losses).mean(), {"ablated_accuracy": right})
