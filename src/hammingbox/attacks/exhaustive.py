"""Enumeration of every row within the budget: the limit no attack can beat."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks._search.combinations import mixed_radix
from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.attacks._search.points import moved
from hammingbox.attacks.cost import refuse_above
from hammingbox.attacks.swap import Swap
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import RowMask


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Search):
    """Tries every row of S(x) within the budget and keeps the one with the largest loss.

    With `verdict` it only decides whether a row can be broken, which is cheaper: where the victim has a gradient, swap
    search goes first (above budget 1) and single changes are tried in the order of their first-order gain; sets of
    features are tried in the order of the sum of their best single losses; and a row leaves at its first success.
    Which rows fall is the same; the loss of a row that fell is a lower bound. A row that stands is tried in full.

    Cost: sum over k <= epsilon of the k-th elementary symmetric polynomial of (d_i - 1) forward passes,
    C(n, epsilon) (d - 1)^epsilon at its largest term; with `verdict` at most that, swap search's and one forward and
    backward pass.

    Attributes:
        verdict: stop at a row's first success.
        max_passes: refuses rows that would need more forward passes than this.
        skip: leave such rows as they are instead of refusing, and all rows where there are more sets of features.
    """

    verdict: bool = False
    max_passes: int = 20_000
    skip: bool = False

    exact: ClassVar[bool] = True

    @property
    def uses_gradient(self) -> bool:
        """A verdict orders its tries by gradients."""
        return self.verdict

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Enumerates distance 1, then 2, up to the budget."""
        passes = self.passes(problem)
        small = passes <= self.max_passes
        if not self.skip:
            refuse_above(self.max_passes, int(passes.max()), "exhaustive search", "max_passes")
        elif comb(problem.candidates.layout.features, problem.budget) > self.max_passes:
            return
        best.settled |= ~small  # these have no part in what follows
        gradient = self.verdict and problem.victim.has_gradient and problem.meter.limit is None
        if gradient and problem.budget > 1:
            Swap(objective=self.objective).search(problem, random, best)
        impact = self._singles(problem, best, gradient=gradient)
        for distance in range(2, problem.budget + 1):
            self._subsets(problem, best, distance, impact)
        # A row that ran out of queries on its way has not been tried in full.
        best.settled = small & (problem.remaining > 0)

    def _open(self, best: Incumbent) -> RowMask:
        """Rows that enumeration goes on with."""
        return ~best.settled & ~best.fooled if self.verdict else ~best.settled

    def _singles(self, problem: Problem, best: Incumbent, *, gradient: bool) -> Float[Tensor, "batch features"]:
        """Distance 1, by first-order gain where there is a gradient. Returns the best loss of each feature alone."""
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
        """Where each round begins and how many items of a row it takes; they double, so an early fall saves most."""
        start, size = 0, 16 if self.verdict else items
        while start < items:
            yield start, size
            start, size = start + size, 2 * size

    def _subsets(
        self, problem: Problem, best: Incumbent, distance: int, impact: Float[Tensor, "batch features"]
    ) -> None:
        """All combinations of `distance` changed features, the most promising sets of features first."""
        choices = problem.candidates.counts - 1
        features = choices.shape[1]
        subsets = torch.tensor(list(combinations(range(features), distance)), device=choices.device)
        order = impact.nan_to_num(neginf=-1e6)[:, subsets].sum(2).argsort(dim=1, descending=True, stable=True)
        chunk = next(problem.micro_batches(1)).stop
        for start, size in self._rounds(len(subsets)):
            rows = self._open(best).nonzero()[:, 0]
            if len(rows) == 0:
                break
            # One item per (row, subset of features) whose features can all change.
            ranked = order[rows, start : start + size]
            able = (choices[rows[:, None, None], subsets[ranked]] > 0).all(2)
            owner, chosen_set = rows[:, None].expand_as(ranked)[able], subsets[ranked[able]]
            for item, digits in mixed_radix(choices[owner[:, None], chosen_set], chunk):
                who, chosen = owner[item], chosen_set[item]
                slot = problem.candidates.nth_valid(who[:, None].expand_as(chosen), chosen, digits + 1)
                slots = torch.zeros(len(who), features, dtype=torch.int64, device=who.device).scatter_(1, chosen, slot)
                best.offer(who, slots, *problem.score(who, slots))

    @staticmethod
    def passes(problem: Problem) -> Float[Tensor, "batch"]:
        """Forward passes each row needs, by the elementary symmetric polynomials of its numbers of choices."""
        choices = (problem.candidates.counts - 1).double()
        by_distance = torch.zeros(len(choices), problem.budget + 1, dtype=torch.float64, device=choices.device)
        by_distance[:, 0] = 1
        for feature in choices.unbind(1):
            by_distance[:, 1:] += by_distance[:, :-1] * feature[:, None]
        return by_distance.sum(1)
