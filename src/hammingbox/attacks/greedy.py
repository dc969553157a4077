"""Greedy and beam search on true losses over all features."""

from dataclasses import dataclass

from hammingbox.attacks._search.beam import beam_search, beam_search_passes
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom


@dataclass(frozen=True, kw_only=True)
class Greedy(Search):
    """Takes one change after the other, each the best of all changes of all untouched features.

    Unlike GA it chooses the feature again at every step. With a beam, the `beam` best partial rows continue together.
    A row leaves as soon as it is broken. Exact at budget 1.

    Cost: with m = sum (d_i - 1), at most 1 + m + (epsilon - 1) beam m forward passes per row.

    Attributes:
        beam: how many partial rows continue; 1 is the greedy form.
    """

    beam: int = 1

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:  # noqa: ARG002
        """Searches all changes."""
        beam_search(problem, best, problem.candidates.moves, self.beam)

    def search_passes(self, problem: Problem) -> Passes:
        """Those of the beam."""
        return beam_search_passes(problem, problem.candidates.moves.sum(1), self.beam)
