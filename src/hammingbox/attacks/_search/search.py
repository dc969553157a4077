"""Searches: attacks that improve on the best points known so far."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks.base import Attack, Found
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import Slots


@dataclass(frozen=True, kw_only=True)
class Search(Attack):
    """An attack that improves on the best points known so far, so that it can be a stage of an ensemble."""

    @abstractmethod
    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Offers points of the open rows to `best`."""

    def search_passes(self, problem: Problem) -> Passes:
        """The most passes that `search` needs for each row. A search that does not say may need any number.

        Args:
            problem: its meter has the query limit of the run.

        Raises:
            TooExpensiveError: the search would refuse to run.
        """
        return Passes.unknown(problem)

    @final
    def run(self, problem: Problem, random: RowRandom) -> Slots:
        """Searches from the clean rows."""
        return self.find(problem, random).slots

    @final
    def find(self, problem: Problem, random: RowRandom) -> Found:
        """Searches from the clean rows and says which rows were settled."""
        best = Incumbent(problem)
        self.search(problem, random, best)
        return Found(best.slots, best.settled)

    @final
    def run_passes(self, problem: Problem) -> Passes:
        """One forward pass for the clean row, then the search."""
        return Passes.of(problem, 1.0, is_exact=True) + self.search_passes(problem)
