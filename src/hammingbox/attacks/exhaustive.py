"""Enumeration of every row within the budget: the limit that no attack can beat."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.attacks._search.combinations import mixed_radix, points_within
from hammingbox.attacks._search.cost_order import points_by_cost
from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import moved
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes, refuse_above
from hammingbox.attacks.swap import Swap
from hammingbox.problem import Problem, place_in_row
from hammingbox.seeding import RowRandom
from hammingbox.types import PointRows, PointSlots, RowFloat, RowMask

_CELLS_AT_ONCE = 2**24
"""Slots of points that are written out at once; a row with more is handled alone."""


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Search):
    """Tries every row of S(x) within the budget and keeps the one with the largest loss.

    With `verdict` it only decides whether a row can be broken, which is cheaper. If the victim has a gradient, swap
    search comes first (above budget 1) and single changes are tried in the order of their first-order gain. Sets of
    features are tried in the order of the sum of their best single losses. A row leaves at its first success. The same
    rows are broken, but the loss of a broken row is only a lower bound. A row that is not broken is tried in full.

    Where changes have prices, points are tried in order of cost. With `verdict` the row that is returned is therefore a
    cheapest evasion, and no swap search comes first. The points of a row are written out, in two or four bytes per
    feature.

    Which rows are broken does not depend on the seed, so it does not count as randomised. With `verdict`, the row that
    is returned for a broken row, and its cost, may depend on the seed through swap search.

    Cost: with e_k the k-th elementary symmetric polynomial of (d_i - 1), exactly sum_{k <= epsilon} e_k forward passes
    per row; the largest term is C(n, epsilon) (d - 1)^epsilon. With `verdict`, at most this plus one forward and one
    backward pass, plus swap search above budget 1; without a gradient or with a query limit, at most this. With prices,
    the number of points that a row can pay.

    Attributes:
        verdict: stop at a row's first success.
        max_passes: refuses rows that would need more forward passes than this.
        skip: leave such rows as they are instead of refusing; all rows if there are more sets of features than this.
    """

    verdict: bool = False
    max_passes: int = 20_000
    skip: bool = False

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """It is, unless rows may be skipped or run out of queries."""
        return not self.skip and self.queries is None

    @property
    def uses_gradient(self) -> bool:
        """Only to decide faster, and not if queries are limited."""
        return self.verdict and self.queries is None  # where there are no prices

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Enumerates distance 1, then 2, up to the budget."""
        enumerated = self._enumerated(problem)
        if not bool(enumerated.any()):
            return
        if problem.purse is not None:
            self._by_cost(problem, best, enumerated)
            return
        closed = best.settled
        best.settled = closed | ~enumerated  # the others take no part in what follows
        gradient = self._takes_gradient(problem)
        if gradient and problem.budget > 1:
            Swap(objective=self.objective).search(problem, random, best)
        impact = self.singles(problem, best, gradient=gradient)
        for distance in range(2, problem.budget + 1):
            self.subsets(problem, best, distance, impact)
        # A row that has run out of queries has not been tried in full.
        best.settled = closed | (enumerated & (problem.remaining > 0))

    def search_passes(self, problem: Problem) -> Passes:
        """Exact without `verdict`: no row leaves early."""
        enumerated = self._enumerated(problem)
        points = _points(problem) - 1
        passes = Passes.of(problem, torch.where(enumerated, points, 0.0), is_exact=not self.verdict)
        if problem.purse is None and self._takes_gradient(problem):
            passes += Passes.of(problem, 1.0, 1.0)
            if problem.budget > 1:
                passes += Swap(objective=self.objective).search_passes(problem)
        return passes

    def _takes_gradient(self, problem: Problem) -> bool:
        return self.verdict and problem.victim.has_gradient and problem.meter.limit is None

    def _enumerated(self, problem: Problem) -> RowMask:
        """Rows that are within the limit.

        Raises:
            TooExpensiveError: a row is above the limit and may not be skipped.
        """
        points = _points(problem)
        if problem.purse is not None:
            if not self.skip:
                refuse_above(self.max_passes, points.max().item(), "exhaustive search", "max_passes")
            return points <= self.max_passes
        if not self.skip:
            refuse_above(self.max_passes, points.max().item(), "exhaustive search", "max_passes")
        elif comb(problem.candidates.layout.features, problem.budget) > self.max_passes:
            return torch.zeros_like(points, dtype=torch.bool)
        return points <= self.max_passes

    def _by_cost(self, problem: Problem, best: Incumbent, enumerated: RowMask) -> None:
        """Tries points in order of cost, more of them in each round; the first one that meets the goal is cheapest."""
        waiting = (enumerated & self._open(best)).nonzero()[:, 0]
        sizes = _points(problem)[waiting] * problem.candidates.layout.features
        group = (sizes.cumsum(0) / _CELLS_AT_ONCE).long()  # rows whose points are kept at the same time
        for number in group.unique():
            rows = waiting[group == number]
            owner, slots, ticks = points_by_cost(problem, rows)
            place, done = place_in_row(owner), 0
            for _, size in self._rounds(int(place.max()) + 1 if len(place) else 0):
                now = ((place >= done) & (place < done + size) & self._open(best)[rows][owner]).nonzero()[:, 0]
                done += size
                if len(now) == 0:
                    break
                self._offer_cheapest(problem, best, rows[owner[now]], slots[now].long(), ticks[now])
        best.settled |= enumerated & (problem.remaining > 0)

    def _offer_cheapest(
        self, problem: Problem, best: Incumbent, rows: PointRows, slots: PointSlots, ticks: Int64[Tensor, "points"]
    ) -> None:
        """Offers points; with `verdict`, of those that meet the goal only the cheapest ones of each row."""
        loss, fooled = problem.score(rows, slots)
        if self.verdict and bool(fooled.any()):
            never = torch.iinfo(torch.int64).max
            cheapest = torch.full_like(problem.rows, never)
            cheapest.scatter_reduce_(0, rows[fooled], ticks[fooled], "amin")
            fooled &= ticks == cheapest[rows]
        best.offer(rows, slots, loss, fooled)

    def _open(self, best: Incumbent) -> RowMask:
        """Rows on which the enumeration continues."""
        return ~best.settled & ~best.fooled if self.verdict else ~best.settled

    def singles(self, problem: Problem, best: Incumbent, *, gradient: bool) -> Float[Tensor, "batch features"]:
        """Distance 1, in the order of first-order gains if there is a gradient. Returns each feature's best loss."""
        moves, layout = problem.candidates.moves, problem.candidates.layout
        loss = torch.full(moves.shape, -torch.inf, device=moves.device)
        rows = self._open(best).nonzero()[:, 0]
        gain = torch.zeros_like(loss)
        if gradient and len(rows):
            gain[rows] = first_order_gain(problem.take(rows), problem.clean_slots[rows])[1]
        order = gain.masked_fill(~moves, -torch.inf).argsort(dim=1, descending=True, stable=True)
        for start, size in self._rounds(layout.options):
            rows = self._open(best).nonzero()[:, 0]
            if len(rows) == 0:
                break
            ranked = order[rows, start : start + size]
            owner, option = rows[:, None].expand_as(ranked).flatten(), ranked.flatten()
            real = moves[owner, option]
            owner, option = owner[real], option[real]
            for part in problem.micro_batches(len(owner)):
                who, taken = owner[part], option[part]
                if len(who):
                    slots = moved(problem, problem.clean_slots[who], taken)
                    scores = problem.score(who, slots)
                    best.offer(who, slots, *scores)
                    loss[who, taken] = scores.loss
        return layout.reduce(loss, lambda rectangle: rectangle.amax(-1))

    def _rounds(self, items: int) -> Iterator[tuple[int, int]]:
        """The first item and the number of items of each round. Rounds double, so an early success saves most."""
        start, size = 0, 16 if self.verdict else items
        while start < items:
            yield start, size
            start, size = start + size, 2 * size

    def subsets(
        self,
        problem: Problem,
        best: Incumbent,
        distance: int,
        impact: Float[Tensor, "batch features"],
        only: Int64[Tensor, "sets distance"] | None = None,
    ) -> None:
        """All combinations of `distance` changed features, the most promising sets of features first.

        Args:
            problem: its budget does not matter here.
            best: where points go; its settled rows are left out.
            distance: number of changed features.
            impact: what the order of sets follows: the best loss of each single feature.
            only: these sets of features; all of them by default.
        """
        choices = problem.candidates.counts - 1
        features = choices.shape[1]
        every = combinations(range(features), distance)
        subsets = torch.tensor(list(every), device=choices.device) if only is None else only
        order = impact.nan_to_num(neginf=-1e6)[:, subsets].sum(2).argsort(dim=1, descending=True, stable=True)
        chunk = next(problem.micro_batches(1)).stop
        for start, size in self._rounds(len(subsets)):
            rows = self._open(best).nonzero()[:, 0]
            if len(rows) == 0:
                break
            # One item per row and set of features that can all change.
            ranked = order[rows, start : start + size]
            able = (choices[rows[:, None, None], subsets[ranked]] > 0).all(2)
            owner, chosen_set = rows[:, None].expand_as(ranked)[able], subsets[ranked[able]]
            for item, digits in mixed_radix(choices[owner[:, None], chosen_set], chunk):
                who, chosen = owner[item], chosen_set[item]
                slot = problem.candidates.nth_valid(who[:, None].expand_as(chosen), chosen, digits + 1)
                slots = torch.zeros(len(who), features, dtype=torch.int64, device=who.device).scatter_(1, chosen, slot)
                best.offer(who, slots, *problem.score(who, slots))


def _points(problem: Problem) -> RowFloat:
    """The number of points of each row, the clean one included."""
    if problem.purse is None:
        return points_within(problem.candidates.counts, problem.budget)
    return affordable_points(problem, torch.arange(len(problem), device=problem.rows.device))
