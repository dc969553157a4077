"""Exhaustive training: training on the worst row that can be paid for (not in the paper)."""

from dataclasses import dataclass

from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.defences.adversarial_rows import AdversarialRows
from hammingbox.defences.base import Batch
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots


@dataclass(eq=False, kw_only=True)
class ExhaustiveTraining(AdversarialRows):
    """Trains on the row of largest loss among all that are within the budget, found by enumeration.

    For small spaces: a table whose attacker can afford a thousand rows is enumerated faster than it is searched, and
    nothing is overlooked. By default no attacked row stays clean: the goal's other classes do.

    Cost per attacked row: one forward pass for each row within the budget, then one of each for the step.

    Attributes:
        clean_share: share of a batch that stays clean.
        most: refuses rows with more points within the budget than this.
    """

    clean_share: float = 0.0
    most: int = 20_000

    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots:  # noqa: ARG002
        """The worst point of each row."""
        return Exhaustive(max_passes=self.most).run(problem, random)[:, None]
