"""ASCC: adversarial training in the sparse convex hull of the candidates' embeddings (Dong et al. 2021)."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch

from hammingbox.defences.base import Batch, Defence, Step, check_embedding_is_learned
from hammingbox.defences.consistency import divergence, logits_to_compare
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import OptionFloat
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.soft_rows import SoftRows
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class ASCC(Defence):
    """Replaces every feature's vector by the worst mixture of its candidates' vectors, and trains on that.

    Mixtures are softmax weights over the *valid* slots of each feature. Adam maximises their logits; an entropy term
    makes them sparse, so that they come close to real categories. The loss is the clean cross entropy plus `weight`
    times the divergence of the prediction for the mixture from the clean prediction. The hull ignores the budget: all
    features move. Of the goal it uses only which classes are attacked: rows of other classes are trained clean.

    The defaults are cheaper than the public code and weigh the entropy far more; `ASCC.public()` has its numbers.

    Cost per row: `steps` forward and backward passes and one forward pass, then two of each for the step.

    Attributes:
        weight: of the divergence (Dong et al.: 4).
        sparsity: weight of a row's entropy, averaged over features that may change, against the row's divergence.
        steps: of the inner ascent (Dong et al.: 10).
        learning_rate: of the ascent.
        one_noise: the predictions that are compared see the same dropout.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("weight", "sparsity")

    weight: float = 4.0
    sparsity: float = 10.0
    steps: int = 5
    learning_rate: float = 1.0
    one_noise: bool = True

    @classmethod
    def public(cls, *, batch_size: int = 64, **changes: Any) -> "ASCC":
        """The numbers of the authors' public code.

        There the entropy is averaged over the batch and has the weight 15, while the divergence is summed over the
        batch. For one row that is a weight of 15 / 64 in batches of 64.

        Args:
            batch_size: rows of a step.
            changes: settings that differ.
        """
        settings: dict[str, Any] = {"weight": 4.0, "sparsity": 15 / batch_size, "steps": 10, "learning_rate": 10.0}
        return cls(**(settings | changes))

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:
        """Also checks that there are vectors to move."""
        super().begin(victim, rows, threat)
        check_embedding_is_learned(victim, self, threat)

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """Clean cross entropy and the divergence at the worst mixture."""
        if self.weight == 0 or threat.forbids_all:
            return Step(batch.cross_entropy(victim(batch.x)))
        candidates = threat.space.slots_of(batch.x)
        attacked = batch.attacked(threat.space.schema)
        with frozen_eval(victim):
            weights = self.worst_mixture(victim, batch, candidates)
        # The table of embeddings is built again, so that the step's gradient reaches the vectors of all candidates.
        mixed = SoftRows(victim, candidates).mix(weights[:, None])[:, 0]
        embedded = victim.embed(batch.x)
        rows = (embedded, torch.where(attacked[:, None, None], mixed, embedded))
        clean, adversarial = logits_to_compare(
            [partial(victim.head, e, batch.x) for e in rows], batch.x.device, one_noise=self.one_noise
        )
        apart = divergence(clean, adversarial) * attacked
        loss = batch.cross_entropy(clean) + self.weight * batch.weighted(apart).mean()
        right = (adversarial.detach().argmax(1) == batch.y).float().mean().item()
        return Step(loss, {"adversarial_accuracy": right})

    def worst_mixture(self, victim: Victim, batch: Batch, candidates: Candidates) -> OptionFloat:
        """Weights over the valid slots of each feature that drive the prediction away from the clean one."""
        layout, soft = candidates.layout, SoftRows(victim, candidates)
        free = (candidates.counts > 1).float()
        with torch.no_grad():
            clean = victim(batch.x)
        logits = -RowRandom.for_rows(batch.seed, batch.x).gumbel(layout.options)
        logits.requires_grad_()
        ascent = torch.optim.Adam([logits], lr=self.learning_rate, maximize=True)
        for _ in range(self.steps):
            ascent.zero_grad()
            with torch.enable_grad():
                weights = simplex(candidates, logits)
                answer = victim.head(soft.mix(weights[:, None])[:, 0], candidates.clean)
                # The smallest positive float in place of 0, because the gradient of 0 log 0 is NaN.
                terms = -weights * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
                entropy = layout.reduce(terms, lambda rectangle: rectangle.sum(-1))
                sparse = (entropy * free).sum(1) / free.sum(1).clamp_min(1.0)
                (divergence(clean, answer) - self.sparsity * sparse).sum().backward()
            ascent.step()
        return simplex(candidates, logits.detach())


def simplex(candidates: Candidates, logits: OptionFloat) -> OptionFloat:
    """Softmax over the valid slots of each feature; exactly 0 on the others."""
    masked = logits.masked_fill(~candidates.valid, -torch.inf)
    return candidates.layout.map(masked, lambda rectangle: rectangle.softmax(-1))
