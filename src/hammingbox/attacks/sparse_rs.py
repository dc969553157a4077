"""Sparse random search (Croce et al. 2022) on slots, for black boxes."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import pack_samples
from hammingbox.attacks._search.points import try_points
from hammingbox.attacks._search.random_points import random_changes, random_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import RowInt, Slots


@dataclass(frozen=True, kw_only=True)
class SparseRS(Search):
    """Holds epsilon changes. Each step exchanges some of them for random ones and keeps the result if it is not worse.

    The share of changes exchanged decreases on the schedule of Croce et al.'s L0 attack, scaled to `steps` steps. At
    least one change is exchanged. A row leaves as soon as it is broken. With prices, the number of changes may rise
    or fall by one; those that stay are paid before the new ones.

    Cost: at most 2 + steps forward passes per row.

    Attributes:
        steps: exchanges tried.
        share: alpha_init, the share of the changes exchanged at first.
    """

    randomised: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("share",)

    steps: int = 998
    share: float = 0.8

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a setting does not fit, or more changes are to be exchanged than there are.
        """
        super().__post_init__()
        if self.share > 1:
            raise InputError(f"expected share of at most 1, all changes, got {self.share:g}.")

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Exchanges until a row is broken, or its steps or queries are used up."""
        here = random_points(problem, random, 1)
        everyone = torch.arange(len(problem), device=here.device)
        loss = try_points(problem, best, everyone, here, torch.ones_like(here[..., 0], dtype=torch.bool))
        here, loss = here[:, 0], loss[:, 0]
        for step in range(self.steps):
            rows = best.open_rows()
            if len(rows) == 0:
                break
            part = problem.take(rows)
            share = self._share_at(step)
            if problem.purse is None:
                child = _exchanged(part, here[rows], max(1, round(share * problem.budget)), random.select(rows))
            else:
                child = _paid_exchange(part, here[rows], share, random.select(rows))
            answer = try_points(problem, best, rows, child[:, None], torch.ones_like(child[:, :1], dtype=torch.bool))[
                :, 0
            ]
            better = answer >= loss[rows]
            here[rows] = torch.where(better[:, None], child, here[rows])
            loss[rows] = torch.where(better, answer, loss[rows])

    def search_passes(self, problem: Problem) -> Passes:
        """The first set of changes, then one per step."""
        return Passes.of(problem, 1 + self.steps)

    def _share_at(self, step: int) -> float:
        """The initial share over a divisor that grows at each bound. The bounds are for 10,000 steps."""
        bounds = (50, 200, 500, 1000, 2000, 4000, 6000, 8000)
        divisors = (2, 4, 5, 6, 8, 10, 12, 15, 20)
        return self.share / divisors[sum(step * 10_000 / self.steps > bound for bound in bounds)]


def _exchanged(problem: Problem, here: Slots, count: int, random: RowRandom) -> Slots:
    """Drops `count` random changes and adds random ones up to the budget, also of the same features."""
    batch, features = here.shape
    drop, take = random.uniform(2, features).unbind(1)
    fresh = random_points(problem.within(features), random, 1)[:, 0]  # a random valid change of every feature
    changed = here != 0
    dropped = torch.zeros_like(changed).scatter_(1, drop.masked_fill(~changed, -1.0).topk(count, dim=1).indices, True)
    kept = changed & ~dropped
    room: RowInt = problem.budget - kept.sum(1)
    order = take.masked_fill(kept | (fresh == 0), -1.0).argsort(dim=1, descending=True, stable=True)
    taken = torch.zeros_like(changed).scatter_(
        1, order, torch.arange(features, device=here.device).expand(batch, -1) < room[:, None]
    )
    return torch.where(kept, here, torch.where(taken, fresh, 0))


def _paid_exchange(problem: Problem, here: Slots, share: float, random: RowRandom) -> Slots:
    """Drops a share of the changes and adds about as many random ones that can be paid, also of the same features."""
    fresh, take = (part[:, 0] for part in random_changes(problem, random, 1))
    drop, more = random.uniform(1 + here.shape[1]).split([here.shape[1], 1], 1)
    changed = here != 0
    place = drop.masked_fill(~changed, -1.0).argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    count = (share * changed.sum(1)).round().clamp(min=1)
    kept = changed & (place >= count[:, None])
    points, priority = torch.where(kept, here, fresh), take + kept
    if problem.purse is None:
        return points
    room = (changed.sum(1, keepdim=True) - 1 + (3 * more).long()).clamp(
        1, problem.budget
    )  # one fewer, as many, one more
    return pack_samples(problem.candidates, problem.purse, room, points[:, None], priority[:, None])[:, 0]
