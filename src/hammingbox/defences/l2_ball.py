"""Adversarial training in an l2 ball around the embedded row (Miyato et al. 2017)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.defences.base import Batch, Defence, Step, check_embedding_is_learned
from hammingbox.threat.goal import RowGoals
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Embedded, Ids
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class L2Ball(Defence):
    """Moves the embedded row within a ball by projected gradient ascent on the loss, and trains on the result.

    It uses neither S(x) nor the budget: the ball is the whole threat model. Only features that the threat model allows
    to change are moved, so padding stays padding. Rows that the goal does not attack stay where they are.

    Cost per row: `steps` forward and backward passes, then one of each for the step.

    Attributes:
        radius: of the ball, in units of the root mean square norm of the batch's embedded features.
        steps: of the ascent; each step covers 2 / steps of the radius.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("radius",)

    radius: float = 0.5
    steps: int = 3

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:
        """Also checks that there are vectors to move."""
        super().begin(victim, rows, threat)
        check_embedding_is_learned(victim, self, threat)

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """Cross entropy at the worst point found in the ball."""
        attacked = batch.attacked(threat.space.schema)
        if threat.forbids_all or self.radius == 0 or not bool(attacked.any()):
            return Step(batch.cross_entropy(victim(batch.x)))
        part, whole = batch.take(attacked), batch.whole.take(batch.whole.attacked(threat.space.schema))
        goals = part.goal.of(part.y, threat.space.schema)
        free = threat.space.slots_of(part.x).counts > 1
        with frozen_eval(victim):
            found = self.worst_shift(victim, part.x, goals, free[:, :, None], whole.x)
        embedded = victim.embed(batch.x)
        shift = torch.zeros_like(embedded)
        shift[attacked] = found
        logits = victim.head(embedded + shift, batch.x)
        right = (logits.detach().argmax(1) == batch.y).float().mean().item()
        return Step(batch.cross_entropy(logits), {"adversarial_accuracy": right})

    def worst_shift(
        self,
        victim: Victim,
        x: Ids,
        goals: RowGoals,
        free: Bool[Tensor, "batch features 1"],
        whole: Int64[Tensor, "whole columns"],
    ) -> Embedded:
        """A shift of the embedded rows, with a norm of at most the radius, that raises the loss of the goals.

        Args:
            victim: frozen.
            x: clean rows.
            goals: of these rows.
            free: features that may be moved.
            whole: all attacked rows of the step, which decide the unit of the radius.
        """
        embedded = victim.embed(x).detach()
        radius = self.radius * victim.embed(whole).detach().square().sum(2).mean().sqrt()
        shift = torch.zeros_like(embedded)
        for _ in range(self.steps):
            with torch.enable_grad():
                shift.requires_grad_()
                loss = goals.cross_entropy(victim.head(embedded + shift, x)).sum()
                (gradient,) = torch.autograd.grad(loss, shift)
            gradient = gradient * free
            stride = 2 * radius / self.steps / _norm(gradient).clamp_min(1e-12)
            shift = shift.detach() + stride * gradient
            shift *= (radius / _norm(shift).clamp_min(1e-12)).clamp(max=1.0)
        return shift


def _norm(rows: Embedded) -> Float[Tensor, "batch 1 1"]:
    """Norm of each whole row, shaped to broadcast over the row."""
    return rows.flatten(1).norm(dim=1)[:, None, None]
