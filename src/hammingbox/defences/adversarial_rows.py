"""Training on discrete adversarial rows: what PAdvT, HotFlip training and swap training have in common."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn import functional

from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.errors import InputError
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import ManySlots, Weights
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim

CleanRows = Int64[Tensor, "clean columns"]
PointLogits = Float[Tensor, "answers classes"]


@dataclass(eq=False, kw_only=True)
class AdversarialRows(Defence):
    """Replaces a share of each batch by adversarial rows; the rest stays clean.

    Clean rows in every batch preserve the clean accuracy, and only the other rows cost an attack (the paper's mixture
    table; its main tables have no clean rows). Rows that the goal does not attack stay clean as well.

    Attributes:
        clean_share: share of a batch that stays clean; at least one row is attacked.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("clean_share",)

    clean_share: float = 0.5

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: `clean_share` is not in [0, 1).
        """
        super().__post_init__()
        if self.clean_share >= 1:
            raise InputError(f"expected clean_share below 1, got {self.clean_share}. At 1 it is standard training.")

    @property
    def keeps_rules(self) -> bool:
        """Its rows are points of the problem."""
        return True

    @abstractmethod
    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots | Weights:
        """Adversarial points, the same number for every row; a defence that trains on soft rows gives their weights."""

    def answers(
        self, victim: Victim, candidates: Candidates, points: ManySlots | Weights, clean: CleanRows
    ) -> PointLogits:
        """Logits of all adversarial points and then of the clean rows.

        One pass for both, so that batch statistics are those of clean and adversarial rows together.
        """
        return victim(torch.cat([candidates.select_points(*all_points(points)), clean]))

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """Cross entropy of clean and adversarial rows, weighted by their shares; with budget 0 that of the batch."""
        schema = threat.space.schema
        attacked = batch.whole.attacked(schema)
        attacked[max(1, len(attacked) - round(self.clean_share * len(attacked))) :] = False
        attacked = batch.own(attacked)
        if threat.forbids_all or not bool(attacked.any()):
            return Step(batch.cross_entropy(victim(batch.x)))
        part, rest = batch.take(attacked), batch.take(~attacked)
        with frozen_eval(victim):
            candidates = threat.space.slots_of(part.x)
            problem = Problem.of(victim, candidates, part.goal.of(part.y, schema), threat.budget)
            points = self.adversarial(problem, part, RowRandom.for_rows(part.seed, part.x))
        logits = self.answers(victim, candidates, points, rest.x)
        each = points.shape[1]
        found = each * len(part)
        y = torch.cat([part.y.repeat_interleave(each), rest.y])
        losses = functional.cross_entropy(logits, y, reduction="none")
        if part.weights is not None and rest.weights is not None:
            losses = losses * torch.cat([part.weights.repeat_interleave(each), rest.weights])
        loss = (losses[:found].sum() / each + losses[found:].sum()) / len(batch)
        right = (logits.detach().argmax(1) == y)[:found]
        return Step(loss, {"adversarial_accuracy": right.float().mean().item()})
