"""Swap training: training on the rows of a short swap search (not in the paper)."""

from dataclasses import dataclass
from typing import ClassVar

from hammingbox.attacks.swap import Swap
from hammingbox.defences.adversarial_rows import AdversarialRows
from hammingbox.defences.base import Batch
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots


@dataclass(eq=False, kw_only=True)
class SwapTraining(AdversarialRows):
    """Trains on rows that a short swap search found; a row leaves the search as soon as it is broken.

    Cost per attacked row: at most 1 + steps (1 + tries) forward and `steps` backward passes, where steps is the
    budget; extra moves cost some more for new starts. Then one of each for the step.

    Attributes:
        extra: moves beyond the budget.
        tries: moves evaluated at each step.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("extra",)

    extra: int = 0
    tries: int = 4

    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots:  # noqa: ARG002
        """As many moves as the budget allows changes, and the extra ones."""
        return Swap(steps=problem.budget + self.extra, tries=self.tries).run(problem, random)[:, None]
