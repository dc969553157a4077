"""TRADES on the adversarial distribution (Zhang et al. 2019; appendix A.3 of the paper)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch

from hammingbox.defences.base import Batch, Step
from hammingbox.defences.consistency import divergence, logits_to_compare
from hammingbox.defences.inner_pcaa import InnerPCAA
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, ManySlots, RowMask
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class Trades(InnerPCAA):
    """Clean cross entropy plus the divergence of the victim's prediction for x' ~ pi from its prediction for x.

    L(f(x), y) + weight E_{x'~pi} KL(f(x) || f(x')), where pi maximises the loss against the victim's own prediction.
    As everywhere, the inner loss is a margin, which does not saturate. Weight 0 is standard training.

    The goal is applied to the predicted class. A row is trained clean unless the goal attacks both its true class and
    its predicted class.

    Cost per row: that of :class:`InnerPCAA`, one more forward pass, and 1 + n_adv forward and backward passes for the
    step.

    Attributes:
        weight: the paper's 1/lambda.
        one_noise: the predictions that are compared see the same dropout.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("weight",)

    weight: float = 5.0
    one_noise: bool = True

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """The TRADES loss of a batch."""
        if self.weight == 0 or threat.forbids_all:
            return Step(batch.cross_entropy(victim(batch.x)))
        attacked, changed = self._changed_rows(victim, batch, threat)
        self.learn(batch)
        clean, *answers = logits_to_compare(
            [partial(victim, rows) for rows in (batch.x, *changed)], batch.x.device, one_noise=self.one_noise
        )
        apart = torch.stack([divergence(clean, answer) for answer in answers]) * attacked
        loss = batch.cross_entropy(clean) + self.weight * batch.weighted(apart).mean()
        right = (torch.stack(answers).detach().argmax(2) == batch.y).float().mean().item()
        return Step(loss, {"adversarial_accuracy": right, "penalty": self.get_buffer("adapted_penalty").item()})

    @property
    def keeps_rules(self) -> bool:
        """Its rows are points of the problem."""
        return True

    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots:
        """Lines 4 to 7 of Algorithm 2: `n_adv` points per row."""
        return self.points(problem, self.distribution(problem, batch, random), random)

    def _changed_rows(self, victim: Victim, batch: Batch, threat: ThreatModel) -> tuple[RowMask, tuple[Ids, ...]]:
        """Which rows are attacked, and the batch with these rows drawn from pi, `n_adv` times."""
        schema = threat.space.schema
        with frozen_eval(victim):
            with torch.no_grad():
                predicted = victim(batch.x).argmax(1)
            goals = batch.goal.of(predicted, schema)
            attacked = goals.possible & batch.attacked(schema)
            changed = batch.x[:, None].repeat(1, self.n_adv, 1)
            if bool(attacked.any()):
                part = batch.take(attacked)
                candidates = threat.space.slots_of(part.x)
                problem = Problem.of(victim, candidates, goals.take(attacked), threat.budget)
                points = self.adversarial(problem, part, RowRandom.for_rows(part.seed, part.x))
                changed[attacked] = candidates.select_points(*all_points(points)).view(*points.shape[:2], -1)
        return attacked, changed.unbind(1)
