"""PCAA for black boxes: the same distribution and objective, with a gradient estimated from losses."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import change_weights, most_features
from hammingbox.attacks._search.points import try_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.distribution import Distribution, initial_log_pi
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import SampleFloat


@dataclass(frozen=True, kw_only=True)
class ScorePCAA(Search):
    """Maximises Eq. 3 with the score-function gradient (Williams 1992) and a leave-one-out baseline (Kool et al. 2019).

    The gradient of E L(f(x'), y) is the mean over draws of (L - mean L of the other draws) grad log pi(x'). The draws
    of each step are projected to the budget, so each of them is a row that may break the victim. Losses are divided by
    their spread in the step, so that one step size suits every victim. A row leaves as soon as it is broken. Where
    changes have prices, constraint and projection are PCAA's.

    Cost: at most 1 + steps samples forward passes per row.

    Attributes:
        steps: I, gradient steps.
        samples: n_g, draws per step.
        learning_rate: gamma, of Adam on log pi.
        start: changes expected under the first pi, in units of epsilon.
        zeta: right-hand side of the constraint, in units of epsilon.
        penalty: lambda.
    """

    randomised: ClassVar[bool] = True
    own_gradients: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("penalty",)

    steps: int = 50
    samples: int = 20
    learning_rate: float = 0.5
    start: float = 1.0
    zeta: float = 1.5
    penalty: float = 0.1

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Ascends until a row is broken, or its steps or queries are used up."""
        most = problem.budget if problem.purse is None else most_features(problem).clamp(min=1)
        log_pi = initial_log_pi(problem.candidates, self.start * most).requires_grad_()
        optimiser = torch.optim.Adam([log_pi], lr=self.learning_rate, maximize=True)
        for _ in range(self.steps):
            rows = best.open_rows()
            if len(rows) == 0:
                break
            part = problem.take(rows)
            with torch.enable_grad():
                distribution = Distribution(part.candidates, log_pi[rows])
                points = distribution.draw(random.select(rows), self.samples, budget=problem.budget, purse=part.purse)
                loss = try_points(problem, best, rows, points, torch.ones_like(points[..., 0], dtype=torch.bool))
                chance = distribution.log_chance(points)
                weights = None if part.purse is None else change_weights(part)
                limit = self.zeta * (most[rows] if isinstance(most, torch.Tensor) else most)
                excess = (distribution.weighted_cross_entropy(weights) - limit).relu()
                objective = (_advantage(loss) * chance).mean(1) - self.penalty * excess
                optimiser.zero_grad()
                objective.sum().backward()
            optimiser.step()

    def search_passes(self, problem: Problem) -> Passes:
        """One pass per draw."""
        return Passes.of(problem, self.steps * self.samples)


def _advantage(loss: SampleFloat) -> SampleFloat:
    """Each loss minus the mean of the others, in units of their spread; 0 for draws beyond the query limit."""
    paid = loss > -torch.inf
    count = paid.sum(1, keepdim=True).clamp(min=2)
    known = torch.where(paid, loss, 0.0)
    mean = known.sum(1, keepdim=True) / count
    deviation = torch.where(paid, known - mean, 0.0)
    spread = (deviation.square().sum(1, keepdim=True) / (count - 1)).sqrt().clamp(min=1e-6)
    return deviation * count / (count - 1) / spread
