"""Guided search: a short PCAA finds likely changes, a beam search tries them."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.beam import beam_search, beam_search_passes
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.distribution import Distribution
from hammingbox.attacks.pcaa import PCAA
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionMask


@dataclass(frozen=True, kw_only=True)
class Guided(Search):
    """Optimises pi for a few steps of Algorithm 1, then searches its likeliest changes: singles, pairs, and so on.

    No rows are drawn: with a few dozen likely changes, a beam search over true losses finds more than the same number
    of draws. A row leaves as soon as it is broken.

    Cost: steps samples forward and backward passes per row, and at most 1 + m + (epsilon - 1) beam m forward passes,
    with m the smaller of `flips` and sum (d_i - 1).

    Attributes:
        steps: I, gradient steps.
        samples: n_g, Gumbel samples per step.
        learning_rate: gamma; twice PCAA's, because so few steps must cross the initial log-odds.
        flips: how many of the likeliest changes are searched.
        beam: how many partial rows continue.
    """

    randomised: ClassVar[bool] = True
    needs_gradient: ClassVar[bool] = True

    steps: int = 10
    samples: int = 4
    learning_rate: float = 0.5
    flips: int = 48
    beam: int = 4

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Algorithm 1, then the beam."""
        rows = best.open_rows()
        if len(rows) == 0:
            return
        pcaa = PCAA(
            objective=self.objective,
            steps=self.steps,
            samples=self.samples,
            learning_rate=self.learning_rate,
            start=1.0,
            ascent="adam",
        )
        distribution = pcaa.algorithm_1(problem.take(rows), random.select(rows), pcaa.zetas[0])
        allowed = torch.zeros_like(problem.candidates.valid)
        allowed[rows] = likeliest(distribution, self.flips)
        beam_search(problem, best, allowed, self.beam)

    def search_passes(self, problem: Problem) -> Passes:
        """Algorithm 1, then the beam."""
        ascent = self.steps * self.samples
        allowed = problem.candidates.moves.sum(1).clamp(max=self.flips)
        return Passes.of(problem, ascent, ascent) + beam_search_passes(problem, allowed, self.beam)


def likeliest(distribution: Distribution, flips: int) -> OptionMask:
    """The changes with the largest odds against their feature staying clean."""
    moves = distribution.candidates.moves
    top = distribution.option_log_odds.topk(min(flips, moves.shape[1])).indices
    return torch.zeros_like(moves).scatter_(1, top, True) & moves
