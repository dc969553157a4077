"""TRADES on the adversarial distribution (Zhang et al. 2019; appendix A.3 of the paper)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch.nn import functional

from hammingbox.defences.base import Batch, Step
from hammingbox.defences.consistency import answers_to_compare, divergence
from hammingbox.defences.inner_pcaa import InnerPCAA
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class Trades(InnerPCAA):
    """Clean cross entropy plus the divergence of the victim's answers to x' ~ pi from its answer to x.

    L(f(x), y) + weight E_{x'~pi} KL(f(x) || f(x')), where pi maximises the loss against the victim's own answer; as
    everywhere the inner loss is a margin, which does not saturate. Weight 0 is standard training.

    Cost a row: that of :class:`InnerPCAA` and one forward pass more, and 1 + n_adv forward and backward passes for
    the step.

    Attributes:
        weight: the paper's 1/lambda.
        one_noise: the answers that are compared see the same dropout.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("weight",)

    weight: float = 5.0
    one_noise: bool = True

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """The TRADES loss of a batch."""
        if self.weight == 0 or threat.budget == 0:
            return Step(functional.cross_entropy(victim(batch.x), batch.y))
        with frozen_eval(victim):
            with torch.no_grad():
                own = victim(batch.x).argmax(1)
            candidates = threat.space.slots_of(batch.x)
            problem = Problem.of(victim, candidates, AnyOther().of(own, threat.space.schema), threat.budget)
            points = self.adversarial(problem, batch, RowRandom.for_rows(batch.seed, batch.x))
        owner, slots = all_points(points)
        moved = candidates.select_points(owner, slots).view(len(batch), -1, batch.x.shape[1]).unbind(1)
        clean, *answers = answers_to_compare(
            [partial(victim, rows) for rows in (batch.x, *moved)], batch.x.device, one_noise=self.one_noise
        )
        apart = torch.stack([divergence(clean, answer) for answer in answers])
        loss = functional.cross_entropy(clean, batch.y) + self.weight * apart.mean()
        right = (torch.stack(answers).detach().argmax(2) == batch.y).float().mean().item()
        return Step(loss, {"adversarial_accuracy": right, "penalty": self.get_buffer("adapted_penalty").item()})
