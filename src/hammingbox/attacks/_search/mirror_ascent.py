"""Algorithm 1 by mirror ascent: multiplicative steps on pi, an exact constraint. For rows with thousands of options."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hammingbox.attacks.distribution import Distribution
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionFloat, RowFloat


class Estimate(NamedTuple):
    """The gradient of the expected loss in the weight of every option, from samples.

    Attributes:
        gradient: the mean over samples.
        largest_gain: the largest first-order gain of one change from a sample, where samples are discrete rows.
    """

    gradient: OptionFloat
    largest_gain: RowFloat | None = None


Gradient = Callable[[Distribution], Estimate]
"""Estimates the gradient under a distribution."""

_MEMORY = 0.5
"""Weight of earlier steps in the running mean of gains that a step follows."""

_MOST = 2.0
"""The largest move of an option in steps. Only changes that discrete samples have already made can exceed one step."""

_HALVINGS = 25


def mirror_ascent(
    start: Distribution,
    gradient_of: Gradient,
    limit: float | RowFloat,
    steps: int,
    rate: float,
    weights: OptionFloat | None = None,
) -> Distribution:
    """Maximises the expected loss under sum_i CE(x_i, pi_i) <= zeta.

    The log-odds of every option move by its first-order gain, averaged over samples, in units of the row's largest
    gain. With discrete samples the unit is the largest gain of a change that a sample has not made: those it has made
    would hide the differences between the others. Adam's steps have about the same size for all options; here the best
    of thousands of options stand out from the many with a small gain. Where the sum exceeds the limit, all log-odds are
    lowered by the same amount until it does not. This is the projection in Kullback-Leibler divergence, and there is no
    penalty to choose.

    Args:
        start: pi of line 1.
        gradient_of: averages over n_g samples, soft ones (`soft_gradient`) or hard ones (`HardSamples`).
        limit: zeta.
        steps: I, the number of steps.
        rate: size of the largest move, in units of the log-odds of `start`.
        weights: what each option takes of its row's purse; the terms of the constraint have the mean weights of their
            features. 1 without prices.

    Cost: `steps` gradients.
    """
    candidates, layout, log_pi = start.candidates, start.candidates.layout, start.log_pi
    moves = candidates.moves
    unit = rate * log_pi.amin(1, keepdim=True).clamp(max=-1.0).neg()
    mean, mean_largest = torch.zeros_like(log_pi), torch.zeros_like(unit)
    for _ in range(steps):
        gradient, largest_gain = gradient_of(Distribution(candidates, log_pi))
        gain = gradient - layout.spread(layout.first(gradient))
        mean = _MEMORY * mean + (1 - _MEMORY) * gain.masked_fill(~moves, 0.0)
        if largest_gain is None:
            mean_largest = mean.amax(1, keepdim=True)
        else:
            mean_largest = _MEMORY * mean_largest + (1 - _MEMORY) * largest_gain[:, None]
        step = (mean / mean_largest.clamp(min=1e-9)).clamp(-1.0, _MOST)
        log_pi = torch.where(moves, log_pi + unit * step, log_pi)
        excess = _excess_log_odds(Distribution(candidates, log_pi), limit, weights)
        log_pi = torch.where(moves, log_pi - excess[:, None], log_pi)
    return Distribution(candidates, log_pi)


def soft_gradient(problem: Problem, random: RowRandom, pi: Distribution, samples: int, tau: float) -> Estimate:
    """The gradient averaged over soft samples of Eq. 4, in micro-batches.

    Cost: `samples` forward and backward passes per row.
    """
    total: Tensor = torch.zeros_like(pi.log_pi)
    at_once = max(1, problem.soft_rows_at_once // len(problem))
    for done in range(0, samples, at_once):
        noise = random.gumbel(min(at_once, samples - done), problem.candidates.layout.options)
        with torch.enable_grad():
            soft = pi.soft_samples(noise, tau).requires_grad_()
            (gradient,) = torch.autograd.grad(problem.soft_loss(soft).sum(), soft)
        total += gradient.sum(1)
    return Estimate(total / samples)


def _excess_log_odds(pi: Distribution, limit: float | RowFloat, weights: OptionFloat | None) -> RowFloat:
    """How far all log-odds of a row must be lowered so that its cross entropy is at most the limit, by bisection.

    The mean weight of a feature's changes stays what it is when all of them get less likely by the same factor.
    """
    odds = pi.change_log_odds
    low = torch.zeros_like(odds[:, 0])
    weight = None if weights is None else pi.mean_weight(weights)

    def entropy(log_odds: Float[Tensor, "batch features"]) -> RowFloat:
        terms = functional.softplus(log_odds)
        return (terms if weight is None else weight * terms).sum(1)

    high = entropy(odds).gt(limit) * (odds.amax(1).clamp(min=0) + 40.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = entropy(odds - middle[:, None]) > limit
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    return high
