"""Adversarial training in an l2 ball around the embedded row (Miyato et al. 2017)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from hammingbox.defences.base import Batch, Defence, Step, needs_learned_embedding
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Embedded
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class L2Ball(Defence):
    """Moves the embedded row within a ball by projected gradient ascent on the loss, and trains where that ends.

    It knows neither S(x) nor the budget: the ball is the whole threat model. Only features that the threat model lets
    change are moved, so padding stays padding.

    Cost a row: `steps` forward and backward passes, then one of each for the step.

    Attributes:
        radius: of the ball, in units of the root mean square norm of the batch's embedded features.
        steps: of the ascent; each covers 2 / steps of the radius.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("radius",)

    radius: float = 0.5
    steps: int = 3

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:
        """Looks whether there are vectors to move."""
        super().begin(victim, rows, threat)
        needs_learned_embedding(victim, self, threat)

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """Cross entropy at the worst point found in the ball."""
        if threat.budget == 0 or self.radius == 0:
            return Step(functional.cross_entropy(victim(batch.x), batch.y))
        free = threat.space.slots_of(batch.x).counts > 1
        with frozen_eval(victim):
            shift = self.worst_shift(victim, batch, free[:, :, None])
        logits = victim.head(victim.embed(batch.x) + shift, batch.x)
        right = (logits.detach().argmax(1) == batch.y).float().mean().item()
        return Step(functional.cross_entropy(logits, batch.y), {"adversarial_accuracy": right})

    def worst_shift(self, victim: Victim, batch: Batch, free: torch.Tensor) -> Embedded:
        """A shift of the embedded rows, of norm at most the radius, that raises the loss."""
        embedded = victim.embed(batch.x).detach()
        radius = self.radius * embedded.square().sum(2).mean().sqrt()
        shift = torch.zeros_like(embedded)
        for _ in range(self.steps):
            with torch.enable_grad():
                shift.requires_grad_()
                loss = functional.cross_entropy(victim.head(embedded + shift, batch.x), batch.y, reduction="sum")
                (gradient,) = torch.autograd.grad(loss, shift)
            gradient = gradient * free
            stride = 2 * radius / self.steps / _norm(gradient).clamp_min(1e-12)
            shift = shift.detach() + stride * gradient
            shift *= (radius / _norm(shift).clamp_min(1e-12)).clamp(max=1.0)
        return shift


def _norm(rows: Embedded) -> torch.Tensor:
    """Norm of each whole row, in a shape that divides it."""
    return rows.flatten(1).norm(dim=1)[:, None, None]
