"""Variants of guided search and PCAA that were tried and did not help.

An exact chance constraint, draws conditioned on the budget, and one run of PCAA scored at all budgets.

Run with `python benchmarks/guided_variants.py`; with HAMMINGBOX_DATA set (see attacks.py) on the IPS LSTM too.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from splice_victim import right_rows, space, victim
from torch import Tensor

from attacks import BUDGETS, Target, ips, say
from hammingbox.attacks import PCAA, Distribution, Guided
from hammingbox.attacks._search.beam import beam_search
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import try_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.guided import likeliest
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom

DRAWS = 100
PCAA_SWEEP = PCAA(
    rounds=4, steps=20, samples=3, draws=DRAWS, learning_rate=0.25, start=1.0, ascent="turns", hard=False,
    recentre=None, drawing="projected",
)  # fmt: skip
"""Four long rounds from the clean row, which all variants here start from."""


def cross_entropy_excess(distribution: Distribution, budget: int) -> Tensor:
    """Eq. 3: sum_i CE(x_i, pi_i) above 1.5 epsilon."""
    return (distribution.cross_entropy - 1.5 * budget).relu()


def chance_excess(distribution: Distribution, budget: int) -> Tensor:
    """The exact constraint P(L0 <= epsilon) >= 1/2, as a difference of logarithms: a Poisson-binomial tail."""
    stay = distribution.candidates.layout.first(distribution.log_probabilities).exp()
    chance = [torch.ones_like(stay[:, 0]), *(torch.zeros_like(stay[:, 0]) for _ in range(budget))]
    for p in stay.unbind(1):
        chance = [chance[0] * p, *(more * p + less * (1 - p) for less, more in pairwise(chance))]
    return (torch.stack(chance).sum(0).clamp_min(1e-12).log().neg() - torch.tensor(2.0).log()).relu()


def conditioned_draws(distribution: Distribution, budget: int, random: RowRandom) -> Tensor:
    """Exact draws from pi given L0 <= epsilon: each feature changes with its odds given the number of changes left."""
    layout = distribution.candidates.layout
    log_p = distribution.log_probabilities
    stay = layout.first(log_p).exp()
    batch, features = stay.shape
    # fits[i][:, k]: the chance that features i, i + 1, ... change at most k times
    fits = [torch.ones(batch, budget + 1)]
    for p in reversed(stay.unbind(1)):
        less = torch.cat([torch.zeros(batch, 1), fits[0][:, :-1]], 1)
        fits.insert(0, fits[0] * p[:, None] + less * (1 - p[:, None]))
    noise = random.uniform(DRAWS, features)
    # A draw in which every feature changes: it gives the category of each change.
    change = log_p.masked_fill(~distribution.candidates.moves, -torch.inf)
    change = torch.where(layout.spread(distribution.candidates.counts > 1), change, log_p)
    surely = Distribution(distribution.candidates, change).draw(random, DRAWS)
    left = torch.full((batch, DRAWS), budget)
    points = torch.zeros_like(surely)
    for i, p in enumerate(stay.unbind(1)):
        yes = (1 - p[:, None]) * fits[i + 1].gather(1, (left - 1).clamp(min=0)) * (left > 0)
        changes = noise[:, :, i] * (yes + p[:, None] * fits[i + 1].gather(1, left)) < yes
        points[..., i] = torch.where(changes, surely[..., i], 0)
        left = left - (points[..., i] != 0).long()
    return points


@dataclass(frozen=True, kw_only=True)
class Variant(Search):
    """Guided search's short PCAA with either constraint, followed by the beam or by draws."""

    excess: Callable[[Distribution, int], Tensor]
    then: str

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Algorithm 1, then the beam or 100 draws."""
        rows, guided = best.open_rows(), Guided()
        if len(rows) == 0:
            return
        part, noise = problem.take(rows), random.select(rows)
        layout = part.candidates.layout
        log_pi = PCAA_SWEEP._initial(part.candidates).requires_grad_()
        optimiser = torch.optim.Adam([log_pi], lr=guided.learning_rate, maximize=True)
        for _ in range(guided.steps):
            optimiser.zero_grad()
            current = Distribution(part.candidates, log_pi)
            loss = part.soft_loss(current.soft_samples(noise.gumbel(guided.samples, layout.options), PCAA().tau))
            (loss.mean(1) - PCAA().penalty * self.excess(current, problem.budget)).sum().backward()
            optimiser.step()
        distribution = Distribution(part.candidates, log_pi.detach())
        if self.then == "beam":
            allowed = torch.zeros_like(problem.candidates.valid)
            allowed[rows] = likeliest(distribution, guided.flips)
            beam_search(problem, best, allowed, guided.beam)
            return
        projected = self.then == "projected draws"
        points = (
            distribution.draw(noise, DRAWS, budget=problem.budget)
            if projected
            else conditioned_draws(distribution, problem.budget, noise)
        )
        try_points(part, best, rows, points, torch.ones_like(points[..., 0], dtype=torch.bool))


@dataclass(frozen=True, kw_only=True)
class OneRun(Search):
    """PCAA at the largest budget, with draws projected to the requested budget.

    A row's noise does not depend on the budget, so runs at all budgets optimise the same pi: one would be enough.
    """

    largest: int

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """PCAA's sweep."""
        pcaa = PCAA_SWEEP
        for turn, zeta in enumerate(pcaa.zetas):
            rows = best.open_rows()
            if len(rows) == 0:
                break
            part, noise = problem.take(rows), random.select(rows)
            distribution = pcaa.algorithm_1(part.within(self.largest), noise, zeta, mirror=pcaa.mirrors(turn))
            points = distribution.draw(noise, pcaa.draws, budget=problem.budget)
            try_points(part, best, rows, points, torch.ones_like(points[..., 0], dtype=torch.bool))


if __name__ == "__main__":
    torch.set_num_threads(1)
    targets = [Target("Splice LSTM", victim().victim, right_rows(), space())]
    targets += [ips()] if "HAMMINGBOX_DATA" in os.environ else []
    for target in targets:
        say(f"\n{target.title}: success in %, passes per row, CPU seconds at budgets 1, 2, 3")
        for excess in (cross_entropy_excess, chance_excess):
            for then in ("beam", "projected draws", "conditioned draws"):
                cells = [target.measure(Variant(excess=excess, then=then), budget) for budget in BUDGETS[:3]]
                say(f"  {excess.__name__:21s} {then:18s} " + " | ".join(map(str, cells)))
        say(f"\n{target.title}: PCAA at each budget, and one run at the largest budget scored at all budgets")
        target.table({"pcaa": PCAA_SWEEP, "one run": OneRun(largest=max(BUDGETS))}, BUDGETS)
