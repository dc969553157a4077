"""PAdvT: probabilistic adversarial training (Algorithm 2 of the paper)."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from hammingbox.defences.adversarial_rows import AdversarialRows, CleanRows, PointLogits
from hammingbox.defences.base import Batch, Step
from hammingbox.defences.inner_pcaa import InnerPCAA
from hammingbox.errors import InputError
from hammingbox.problem import Objective, Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import ManySlots, Weights
from hammingbox.victims.soft_rows import SoftRows
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True, repr=False)
class PAdvT(InnerPCAA, AdversarialRows):
    """Trains on rows drawn from the adversarial distribution that a short PCAA finds for each row of the batch.

    `PAdvT.paper()` is Algorithm 2 as printed.

    Cost per attacked row: that of :class:`InnerPCAA`, and `n_adv` forward and backward passes for the step.

    Attributes:
        objective: the loss that the inner PCAA maximises; the paper has the cross entropy.
        trained: what the victim is trained on: discrete rows projected to the budget, discrete rows as they are drawn,
            at any distance, or relaxed rows of Eq. 4, mixtures of the categories' vectors, as in line 6.
    """

    objective: Objective = "margin"
    trained: Literal["projected", "drawn", "relaxed"] = "projected"

    @classmethod
    def paper(cls, **changes: Any) -> "PAdvT":
        """Algorithm 2 as printed: penalised ascent, a living lambda, and `n_adv` relaxed rows at any distance.

        The paper prints neither n_adv, n_g, I, tau, alpha nor a unit of zeta. Zeta is in units of features here, as in
        the released attack; the other numbers are those that two cores can pay for, chosen on validation rows of
        Splice. The ascent takes gradient steps on log pi of a fixed size, because five plain steps on pi go nowhere.

        Args:
            changes: settings that differ; `draws` follows `n_adv`.
        """
        settings: dict[str, Any] = {
            "clean_share": 0.0,
            "objective": "cross_entropy",
            "trained": "relaxed",
            "ascent": "steepest",
            "zeta": 0.2,
            "zeta_unit": "feature",
            "tau": 1.0,
            "penalty": 0.5,
            "penalty_step": 0.1,
            "draws": changes.get("n_adv", 1),
        }
        return cls(**(settings | changes))

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a setting does not fit, or the worst of several draws is asked for where none is compared.
        """
        super().__post_init__()
        if self.trained != "projected" and self.draws != self.n_adv:
            raise InputError(
                f"expected as many draws as n_adv with trained={self.trained!r}, got draws={self.draws} and "
                f"n_adv={self.n_adv}. Every row that is drawn is trained on."
            )

    def __repr__(self) -> str:
        return self.settings_repr("objective", "trained")

    @property
    def keeps_rules(self) -> bool:
        """Projected draws do; what the paper trains on may be at any distance."""
        return self.trained == "projected"

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """Lines 3 to 9 for one batch."""
        step = super().forward(victim, batch, threat)
        self.learn(batch)
        return Step(step.loss, step.notes | {"penalty": self.get_buffer("adapted_penalty").item()})

    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots | Weights:
        """Lines 4 to 7: `n_adv` rows for each row."""
        problem = replace(problem, objective=self.objective)
        distribution = self.distribution(problem, batch, random)
        if self.trained == "projected":
            return self.points(problem, distribution, random)
        if self.trained == "drawn":
            return distribution.draw(random, self.n_adv)
        noise = random.gumbel(self.n_adv, problem.candidates.layout.options)
        return distribution.soft_samples(noise, self.tau)

    def answers(
        self, victim: Victim, candidates: Candidates, points: ManySlots | Weights, clean: CleanRows
    ) -> PointLogits:
        """Logits of discrete or relaxed rows, and then of the clean rows, in one pass."""
        if self.trained != "relaxed":
            return super().answers(victim, candidates, points, clean)
        mixed = SoftRows(victim, candidates).mix(points).flatten(0, 1)
        ids = candidates.clean.repeat_interleave(points.shape[1], 0)
        return victim.head(torch.cat([mixed, victim.embed(clean)]), torch.cat([ids, clean]))
