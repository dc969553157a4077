"""Random changes: the attack that every other one must beat."""

from dataclasses import dataclass
from typing import ClassVar

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.random_points import random_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom


@dataclass(frozen=True, kw_only=True)
class Random(Search):
    """Tries rows with epsilon random changes and keeps the best. A row leaves as soon as it is broken.

    Cost: at most 1 + draws forward passes per row.

    Attributes:
        draws: random rows tried.
        batch: how many are tried at once.
    """

    randomised: ClassVar[bool] = True

    draws: int = 300
    batch: int = 50

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Draws until a row is broken, or its draws or queries are used up."""
        for start in range(0, self.draws, self.batch):
            rows = best.open_rows()
            if len(rows) == 0:
                break
            part = problem.take(rows)
            owner, slots = all_points(random_points(part, random.select(rows), min(self.batch, self.draws - start)))
            best.offer(rows[owner], slots, *part.score(owner, slots))

    def search_passes(self, problem: Problem) -> Passes:
        """One pass per draw."""
        return Passes.of(problem, self.draws)
