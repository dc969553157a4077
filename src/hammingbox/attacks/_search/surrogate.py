"""An additive model of the victim, learned from its answers, that guides a search without a gradient."""

import functools

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.attacks._search.changes import Changes, read_changes, write_changes
from hammingbox.attacks._search.guide import Answers, Gains, Guide
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import pack_samples
from hammingbox.attacks._search.random_points import random_changes, random_counts
from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, RowInt, Slots

_POOL = 256
"""Random points among which the model chooses those to restart from."""

_COMPARED = 2**23
"""Pairs of changes that are compared at once when the model learns."""

_FEW_PLACES = 4
"""Changes per point up to which each pair of their places is compared in an operation of its own."""

_NOISE = 1e-4
"""Size of the random values that unknown options start with, to break ties randomly, not by index."""


class AdditiveSurrogate(Guide):
    """Models the logits as a sum: those of the clean row plus one term (`worth`) for each change.

    It models logits, not the loss. The loss depends on the currently nearest class, so it does not show a change
    towards another class, however much that change would add together with a second one.

    Every answer corrects the model: the error is shared equally among the changes of the queried row (a step of
    Kaczmarz' method). A row with a single change therefore sets the worth of that option exactly.
    """

    def __init__(self, problem: Problem, best: Incumbent, visited: Visited, random: RowRandom) -> None:
        self.layout = problem.candidates.layout
        problem.candidates.prepare()
        self.best, self.visited = best, visited
        self.budget = problem.budget
        self.few = problem.budget**2 < self.layout.features  # lists of changes are shorter than whole points
        self.clean = best.clean_logits.float()
        noise = random.uniform(self.layout.options, self.clean.shape[1])
        self.worth = noise.mul_(_NOISE).index_fill_(1, self.layout.starts, 0.0)  # slot 0 changes nothing
        self.restarts = torch.zeros_like(problem.rows)
        self._predicted: tuple[Slots, Float[Tensor, "batch classes"]] | None = None  # of the points of the last `gain`

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:  # noqa: ARG002
        """What taking each option adds to each logit."""
        worth = self.worth.index_select(0, rows)
        present = worth.gather(1, (self.layout.starts + here)[..., None].expand(-1, -1, worth.shape[2]))
        self._predicted = here, self.clean.index_select(0, rows) + present.sum(1)
        return worth - present.index_select(1, self.layout.feature_of)

    def value(
        self,
        problem: Problem,
        rows: Int64[Tensor, "batch"],
        here: Slots,
        gain: Float[Tensor, "batch *moves parts"],
    ) -> Float[Tensor, "batch *moves"]:
        """The loss that the model predicts after moves with these gains."""
        if self._predicted is not None and self._predicted[0] is here:
            known = self._predicted[1]
        else:
            known = self._logits(rows, (self.layout.starts + here)[:, None])[:, 0]  # (batch, classes)
        logits = gain + known.view(len(rows), *(1,) * (gain.dim() - 2), -1)
        return problem.predicted_loss(logits)

    def _logits(
        self, rows: Int64[Tensor, "batch"], options: Int64[Tensor, "batch sets some"]
    ) -> Float[Tensor, "batch sets classes"]:
        """The logits that the model predicts for sets of options."""
        return self.clean.index_select(0, rows)[:, None] + self._worth_of(rows, options).sum(2)

    def _worth_of(
        self, rows: Int64[Tensor, "batch"], options: Int64[Tensor, "batch sets some"]
    ) -> Float[Tensor, "batch sets some classes"]:
        table = self.worth.view(-1, self.worth.shape[2])  # (batch x options, classes)
        place = self._places(rows, options)
        return table.index_select(0, place.flatten()).view(*place.shape, -1)

    def _places(
        self, rows: Int64[Tensor, "batch"], options: Int64[Tensor, "batch sets some"]
    ) -> Int64[Tensor, "batch sets some"]:
        """Where the options of each row lie among those of all rows."""
        return options + (rows * self.layout.options)[:, None, None]

    def new_starts(
        self, problem: Problem, rows: Int64[Tensor, "batch"], random: RowRandom, count: int
    ) -> tuple[ManySlots, Bool[Tensor, "batch count"]]:
        """The best of many random points by the model's prediction, without those tried before.

        Restarts alternate. Every other one keeps some of the best row's changes and fills up the budget. The others
        spend half the budget on random changes: the room for more changes leads out of plateaus, which trees have.

        Example: at budget 3 the best row has the changes A, B and C.

        - Restart 0 keeps two of them, such as A and C, and adds one random change; restart 2 keeps one and adds two.
        - Restarts 1 and 3 keep none and have two random changes.
        - Restart 4 is like restart 0.
        """
        if problem.purse is not None:
            return self._paid_starts(problem, rows, random, count)
        keep = _changes_to_keep(self.restarts[rows], problem.budget)
        self.restarts[rows] += 1
        feature, slot = self._random_changes(problem, rows, random, keep)
        options = self.layout.starts.index_select(0, feature.flatten()).view(feature.shape) + slot
        expected = problem.predicted_loss(self._logits(rows, options))
        keys = self.visited.key_of.index_select(0, options.flatten()).view(options.shape).sum(2)
        new = ~self.visited.knows(rows, keys) & first_in_row(keys)
        best = expected.masked_fill(~new, -torch.inf).topk(min(count, _POOL)).indices
        top = best[..., None].expand(-1, -1, problem.budget)
        points = write_changes(problem, feature.gather(1, top), slot.gather(1, top))
        return points, self.visited.visit(rows, points)

    def _paid_starts(
        self, problem: Problem, rows: Int64[Tensor, "batch"], random: RowRandom, count: int
    ) -> tuple[ManySlots, Bool[Tensor, "batch count"]]:
        """`new_starts` where changes have prices. A restart keeps a random share of the best row's changes.

        Every other restart keeps none of them. What is kept is paid first, then a random number of random changes.
        """
        slots, key = random_changes(problem, random, _POOL)
        coin = random.uniform(_POOL, 1 + slots.shape[2])
        keeps = (self.restarts[rows] % 2 == 0)[:, None, None] & (coin[..., 1:] < coin[..., :1])
        self.restarts[rows] += 1
        known = self.best.slots[rows][:, None].expand_as(slots)
        kept = keeps & (known != 0)
        wanted = torch.where(kept, known, slots)
        room = random_counts(problem, random, _POOL)
        points = pack_samples(problem.candidates, problem.known_purse, room, wanted, key + kept)
        expected = problem.predicted_loss(self._logits(rows, self.layout.starts + points))
        keys = self.visited.keys(points)
        new = ~self.visited.knows(rows, keys) & first_in_row(keys)
        top = expected.masked_fill(~new, -torch.inf).topk(min(count, _POOL)).indices[..., None]
        points = points.gather(1, top.expand(-1, -1, points.shape[2]))
        return points, self.visited.visit(rows, points)

    def _random_changes(
        self, problem: Problem, rows: Int64[Tensor, "batch"], random: RowRandom, keep: RowInt
    ) -> tuple[Changes, Changes]:
        """A pool of points: `keep` random ones of the best row's changes, random changes in the other places."""
        noise = random.uniform(_POOL, problem.budget, 3)
        feature, slot = read_changes(problem, noise[..., :2])  # (batch, pool, budget)
        place = torch.arange(problem.budget, device=rows.device)
        slot = torch.where((keep > 0)[:, None, None] | (2 * place < problem.budget), slot, 0)
        known = self.best.slots[rows]
        changed, where = (known != 0).long().topk(problem.budget)
        # argsort twice gives the rank of each place in a random order: the first `keep` ranks are kept.
        kept = (noise[..., 2].argsort(dim=2).argsort(dim=2) < keep[:, None, None]) & (changed != 0)[:, None]
        feature = torch.where(kept, where[:, None], feature)
        return feature, torch.where(kept, known.gather(1, where)[:, None], slot)

    def learn_singles(
        self, rows: Int64[Tensor, "batch"], options: Int64[Tensor, "batch some"], logits: Answers
    ) -> None:
        """`learn` for points with one change each, all different: none sees another's step."""
        self._predicted = None
        table = self.worth.view(-1, self.worth.shape[2])  # (batch x options, classes)
        place = self._places(rows, options[:, None]).flatten()
        worth = table.index_select(0, place).view(*options.shape, -1)
        wrong = logits - self.clean.index_select(0, rows)[:, None] - worth
        table.index_copy_(0, place, wrong.nan_to_num_(0.0).add_(worth).flatten(0, 1))  # NaN: not queried

    def learn(self, rows: Int64[Tensor, "batch"], points: ManySlots, logits: Answers) -> None:
        """Makes one step of Kaczmarz' method per point, in the order of the points."""
        self._predicted = None
        queried = logits.isfinite().all(2)
        changed = (points != 0) & queried[..., None]
        rise = torch.where(queried[..., None], logits - self.clean.index_select(0, rows)[:, None], 0.0)
        options = self.layout.starts + points
        if self.few:  # only what a point changes has a worth
            feature = changed.long().topk(self.budget).indices
            changed, options = changed.gather(2, feature), options.gather(2, feature)
        compared = options.shape[1] ** 2 * options.shape[2] ** (2 if self.few else 1)
        at_once = max(1, _COMPARED // compared)
        for start in range(0, len(rows), at_once):
            part = slice(start, start + at_once)
            self._correct(rows[part], options[part], changed[part], rise[part])

    def _correct(
        self,
        rows: Int64[Tensor, "batch"],
        options: Int64[Tensor, "batch points changes"],
        changed: Bool[Tensor, "batch points changes"],
        rise: Answers,
    ) -> None:
        """The steps of all points at once. A step changes what later ones see, by as much as they share options.

        Example: the second of two points has two changes, and one of them is also the first point's only change. Its
        error is what the model was wrong by before, minus the error of the first point, which that change now makes up.
        """
        table = self.worth.view(-1, self.worth.shape[2])  # (batch x options, classes)
        place = self._places(rows, options).flatten()
        worth = table.index_select(0, place).view(*options.shape, -1)
        wrong = rise - (worth * changed[..., None]).sum(2)
        count = changed.sum(2).clamp(min=1)
        later, earlier = (torch.where(changed, options, nothing) for nothing in (-1, -2))
        seen = self._shared(later, earlier).div_(count[:, None]).tril_(-1)
        if bool(seen.any()):
            wrong = torch.linalg.solve_triangular(seen, wrong, upper=False, unitriangular=True)
        steps = (wrong / count[..., None])[:, :, None] * changed[..., None]
        table.index_add_(0, place, steps.flatten(0, 2))

    def _shared(
        self,
        later: Int64[Tensor, "batch points changes"],
        earlier: Int64[Tensor, "batch points changes"],
    ) -> Float[Tensor, "batch points points"]:
        """How many changes each point (second axis) shares with each other one (last axis)."""
        places = range(later.shape[2])
        if self.few and len(places) <= _FEW_PLACES:
            # One comparison per pair of places. Summed over an axis, the same numbers take four times as long.
            pairs = [later[:, :, i, None] == earlier[:, None, :, j] for i in places for j in places]
            return functools.reduce(torch.add, (pair.view(torch.uint8) for pair in pairs)).to(self.worth.dtype)
        earlier = earlier.transpose(1, 2)[:, None]  # (batch, 1, changes, earlier points)
        # Changes are in the order of features, or any change may be the same as any other.
        same = later[..., None, None] == earlier[:, :, None] if self.few else later[..., None] == earlier
        return same.sum(tuple(range(2, same.dim() - 1)), dtype=self.worth.dtype)


def _changes_to_keep(restarts: RowInt, budget: int) -> RowInt:
    """At even restarts budget - 1, budget - 2, ..., 1, then budget - 1 again. At odd ones, and at budget 1, none."""
    kept = budget - 1 - restarts // 2 % max(1, budget - 1)
    return torch.where(restarts % 2 == 0, kept, 0)
