"""Guided search: a short PCAA says which changes are likely, a beam search tries them for real."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.attacks.distribution import Distribution
from hammingbox.attacks.greedy import beam_search
from hammingbox.attacks.pcaa import PCAA
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionMask


@dataclass(frozen=True, kw_only=True)
class Guided(Search):
    """Optimises pi for a few steps of Algorithm 1, then searches its likeliest changes: singles, pairs, and so on.

    The distribution is not drawn from: at a few dozen likely changes a beam search over true losses finds more than as
    many draws do. Rows that fall leave.

    Cost: steps samples forward and backward passes, and at most 1 + flips + (epsilon - 1) beam flips forward passes.

    Attributes:
        steps: I, gradient steps.
        samples: n_g, Gumbel samples a step.
        learning_rate: gamma; twice PCAA's, as so few steps must cross the log-odds of the start.
        flips: how many of the likeliest changes are searched.
        beam: how many partial rows go on.
    """

    needs_gradient: ClassVar[bool] = True

    steps: int = 10
    samples: int = 4
    learning_rate: float = 0.5
    flips: int = 48
    beam: int = 4

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Algorithm 1, then the beam."""
        rows = best.standing()
        if len(rows) == 0:
            return
        pcaa = PCAA(
            objective=self.objective,
            steps=self.steps,
            samples=self.samples,
            learning_rate=self.learning_rate,
            ascent="adam",
        )
        distribution = pcaa.algorithm_1(problem.take(rows), random.select(rows), pcaa.zetas[0])
        allowed = torch.zeros_like(problem.candidates.valid)
        allowed[rows] = likeliest(distribution, self.flips)
        beam_search(problem, best, allowed, self.beam)


def likeliest(distribution: Distribution, flips: int) -> OptionMask:
    """The changes with the largest odds against their feature staying as it is."""
    layout, moves = distribution.candidates.layout, distribution.candidates.moves
    log_p = distribution.log_probabilities
    odds = (log_p - layout.spread(layout.first(log_p))).masked_fill(~moves, -torch.inf)
    top = odds.topk(min(flips, layout.options)).indices
    return torch.zeros_like(moves).scatter_(1, top, True) & moves
