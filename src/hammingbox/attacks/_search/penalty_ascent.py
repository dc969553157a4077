"""Algorithm 1 of the paper: gradient steps on pi under a penalty."""

from typing import Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks.distribution import Distribution
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionFloat, RowFloat

SMALLEST_PI = 1e-3
"""The smallest pi in the paper's form, which clips pi into [1e-3, C]."""


def penalty_ascent(
    problem: Problem,
    random: RowRandom,
    start: Distribution,
    limit: float | RowFloat,
    steps: int,
    samples: int,
    tau: float,
    rate: float,
    *,
    penalty: float | Float[Tensor, ""],
    ceiling: float,
    step: Literal["adam", "steepest", "sign"],
    weights: OptionFloat | None = None,
) -> Distribution:
    """Maximises the expected loss - penalty [sum_i CE(x_i, pi_i) - zeta]+ (Eq. 3).

    Adam and steepest ascent work on log pi, scaled by the initial log-odds, so that the number of steps they need does
    not depend on the number of options: a hundred or twenty thousand.

    Args:
        problem: of these rows.
        random: one stream per row.
        start: pi of line 1.
        limit: zeta.
        steps: I, the number of steps.
        samples: n_g, Gumbel samples per step.
        tau: softmax temperature.
        rate: gamma; in units of the log-odds of `start`, with "sign" in units of pi.
        penalty: lambda.
        ceiling: C, the largest pi.
        step: Adam on log pi, steepest ascent on log pi (the largest entry of a row moves by `rate`), or the sign of the
            gradient on pi itself.
        weights: what each option takes of its row's purse, see `change_weights`; 1 without prices.

    Cost: steps samples forward and backward passes per row.
    """
    candidates, layout, initial = problem.candidates, problem.candidates.layout, start.log_pi
    smallest = initial.amin(1, keepdim=True)
    unit = torch.ones_like(smallest) if step == "sign" else -smallest.clamp(max=-1.0)
    log_ceiling = torch.tensor(ceiling, device=initial.device).log()
    scaled = (initial / unit).requires_grad_()
    optimiser = torch.optim.Adam([scaled], lr=rate, maximize=True)
    at_once = max(1, problem.soft_rows_at_once // len(problem))
    for _ in range(steps):  # line 2
        optimiser.zero_grad()
        for done in range(0, samples, at_once):  # line 3: Eq. 5, in micro-batches of samples
            noise = random.gumbel(min(at_once, samples - done), layout.options)
            soft = Distribution(candidates, scaled * unit).soft_samples(noise, tau)
            (problem.soft_loss(soft).sum() / samples).backward()
        excess = (Distribution(candidates, scaled * unit).weighted_cross_entropy(weights) - limit).relu()
        (-penalty * excess).sum().backward()
        gradient = cast(Tensor, scaled.grad)  # the penalty's backward pass always reaches it
        with torch.no_grad():
            if step == "sign":
                # d/dpi has the sign of d/dlog pi; the step is taken on pi.
                pi = scaled.exp() + rate * gradient.sign()
                scaled.copy_(pi.clamp(SMALLEST_PI, ceiling).log())
                continue
            if step == "adam":  # line 4
                optimiser.step()
            else:
                largest = gradient.abs().amax(1, keepdim=True).clamp_min(torch.finfo(scaled.dtype).tiny)
                scaled.add_(rate * gradient / largest)
            scaled.copy_(torch.minimum(scaled, unit.reciprocal() * log_ceiling))  # line 5; the paper prints max
    return Distribution(candidates, scaled.detach() * unit)
