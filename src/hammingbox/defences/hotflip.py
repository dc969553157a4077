"""HotFlip training (Ebrahimi et al. 2018): training on the flips of the largest first-order gain."""

from dataclasses import dataclass

from hammingbox.attacks.hotflip import HotFlip
from hammingbox.defences.adversarial_rows import AdversarialRows
from hammingbox.defences.base import Batch
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots


@dataclass(eq=False, kw_only=True)
class HotFlipTraining(AdversarialRows):
    """Trains on rows that greedy HotFlip found.

    Cost per attacked row: at most epsilon forward and backward passes and epsilon + 1 forward passes; then one of each
    for the step.
    """

    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots:  # noqa: ARG002
        """One flip after the other, each with the largest first-order gain."""
        return HotFlip().run(problem, random)[:, None]
