"""Any model at small budgets: every point is tried, or known from others."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks._search.combinations import points_within
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks.auto import Auto
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.attacks.swap import Swap
from hammingbox.certificates._search.far_pairs import Singles, try_far_pairs, try_singles
from hammingbox.certificates._search.near_pairs import try_near_pairs
from hammingbox.certificates.base import Certificate
from hammingbox.certificates.result import Claims
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import Space
from hammingbox.victims.ablated import Ablated
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.cnn import ConvNet

_MANY_POINTS = 20_000
"""Above this number of points per row, the attack `auto` runs before the enumeration, and not only a swap search."""


@dataclass(frozen=True, kw_only=True)
class Exact(Certificate):
    """Enumeration of every point within the budget, one distance after the other.

    Guarantee: the victim itself was asked about every point, so a row is proven or broken, with its exact radius. The
    one exception are convolution nets (`cnn`) at two changes: the answer is computed from what the changes do to the
    few positions that they touch, and the victim is asked only where that answer is within 1e-4 of breaking the row. A
    row whose next distance would need more than `max_passes` passes in all is unknown, with the radius that was proven
    before.

    Where changes have prices, all points that a row can pay for are tried in order of cost: the radius is an amount in
    ticks, and the witness of a broken row is a cheapest one. Rows of which relations leave out points for want of room
    are never proven.

    Cost: with e_k the k-th elementary symmetric polynomial of (d_i - 1), at most the sum of e_k over k <= budget passes
    per row, and an attack per distance above 1. A row that is broken leaves at once.

    Attributes:
        max_passes: forward passes per row at most.
    """

    exact: ClassVar[bool] = True
    needs_passes: ClassVar[bool] = True
    keeps_rules: ClassVar[bool] = True

    max_passes: int = 50_000

    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """Every victim; at large budgets rows stay unknown."""
        if isinstance(victim, Ablated) and victim.subsets(len(space.schema.features)) is None:
            return (
                "expected a victim that can be asked about thousands of points for the certificate exact, got votes "
                f"over {victim.votes} ablations, each answer of which takes as many passes. Use ablation."
            )
        return None

    def run(self, problem: Problem, random: RowRandom) -> Claims:
        """Enumerates distance 1, then 2, up to the budget; with prices, everything in order of cost."""
        if problem.purse is not None:
            return self._by_cost(problem, random)
        radius = torch.zeros_like(problem.rows)
        best = Incumbent(problem)
        counts = problem.candidates.counts
        singles: Singles | Float[Tensor, "batch features"] | None = None
        for distance in range(1, problem.budget + 1):
            # `settled` rows take no part: broken, or too many points from here on.
            best.settled |= best.fooled | (points_within(counts, distance) > self.max_passes)
            open_ = ~best.settled
            if not bool(open_.any()):
                break
            part = problem.within(distance)
            if singles is None:
                singles = self._singles(part, best)
            else:
                self._larger(part, best, distance, singles, random)
            radius = torch.where(open_ & ~best.fooled, distance, radius)
        proven = radius >= problem.budget
        worst = torch.maximum(best.loss, singles.worst) if isinstance(singles, Singles) else best.loss
        bound = torch.where(proven, worst.double().clamp(max=0.0), torch.inf)
        return Claims(radius, torch.where(best.fooled[:, None], best.slots, 0), bound)

    def _by_cost(self, problem: Problem, random: RowRandom) -> Claims:
        """Everything that a row can pay for, and the cheapest evasion."""
        purse, priced = problem.known_purse, problem.candidates.priced
        # Points are tried in order of ticks. Where the budget counts changes, one change more is allowed at a time.
        limits = [purse]
        if not priced:
            # More columns than features of the layout may change: tied columns are one feature.
            most = int(purse[:, 0].max())
            limits = [torch.stack([purse[:, 0].clamp(max=r), purse[:, 1]], 1) for r in range(1, most + 1)]
        enumeration = Exhaustive(verdict=True, max_passes=self.max_passes, skip=True)
        best, rows = Incumbent(problem), torch.arange(len(problem), device=problem.rows.device)
        open_, radius = problem.candidates.is_whole.clone(), torch.zeros_like(problem.rows)
        for changes, limit in enumerate(limits, start=1):
            best.settled = ~open_
            enumeration.search(problem.with_purse(limit), random, best)
            # Rows with too many points are not settled now, and leave with what was proven before.
            open_ = open_ & best.settled & ~best.fooled
            radius = torch.where(open_, changes, radius)
        witness = torch.where(best.fooled[:, None], best.slots, 0)
        if priced:
            # All points that are cheaper than the first evasion have been tried. A free evasion leaves nothing proven.
            cheapest = problem.spent(rows, witness)[:, 1] - 1
            radius = torch.where(best.fooled & problem.candidates.is_whole, cheapest, 0)
        # What a row cannot pay breaks it at no budget.
        radius = torch.where(open_, torch.iinfo(torch.int64).max, radius)
        return Claims(radius, witness, torch.where(open_, best.loss.double().clamp(max=0.0), torch.inf))

    def _singles(self, problem: Problem, best: Incumbent) -> Singles | Float[Tensor, "batch features"]:
        victim = problem.victim
        if isinstance(victim, ConvNet):
            with torch.no_grad():
                return try_singles(victim, problem, best)
        return Exhaustive(verdict=True).singles(problem, best, gradient=victim.has_gradient)

    def _larger(
        self,
        problem: Problem,
        best: Incumbent,
        distance: int,
        singles: Singles | Float[Tensor, "batch features"],
        random: RowRandom,
    ) -> None:
        """All points at one distance of at least 2."""
        enumeration, victim = Exhaustive(verdict=True), problem.victim
        if isinstance(singles, Singles) and isinstance(victim, ConvNet) and distance == 2:
            with torch.no_grad():
                try_far_pairs(victim, problem, best, singles)
                try_near_pairs(victim, problem, best, singles)
            return
        # Rows that an attack breaks are not enumerated; a long enumeration is worth a longer attack. Each row has the
        # attack that it would have alone.
        many = points_within(problem.candidates.counts, distance) > _MANY_POINTS
        closed = best.settled | best.fooled
        best.settled = closed | ~many
        Auto().search(problem, random, best)
        if victim.has_gradient:
            best.settled = closed | many
            Swap().search(problem, random, best)
        best.settled = closed | best.fooled
        impact = singles.impact if isinstance(singles, Singles) else singles
        enumeration.subsets(problem, best, distance, impact)
