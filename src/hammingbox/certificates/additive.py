"""Models that add up scores: of single features in closed form, of windows by a dynamic programme."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.certificates._search.one_hot_net import OneHotNet, Terms, one_hot_net
from hammingbox.certificates._search.pairs import Pairs
from hammingbox.certificates._search.window_programme import WindowScores, WorstCase, window_worst_case
from hammingbox.certificates.base import Certificate, rounding, too_coarse
from hammingbox.certificates.result import Claims
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import Space
from hammingbox.types import Slots
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.windows import Windows

_ROWS_AT_ONCE = 128
"""Rows of the programme of windows: the tables of a step then fit into the CPU's caches."""


@dataclass(frozen=True, kw_only=True)
class Additive(Certificate):
    """The worst case of a model that adds up scores, computed and not searched for.

    Guarantee: with one losing class (every untargeted goal) the worst margin within every budget is exact up to
    rounding, so a row is proven or broken unless its worst margin is within the tolerance of 0. With several losing
    classes (a target among three or more) it is an upper bound: what it proves holds, and some rows stay unknown.

    For a model that is linear in one-hot rows, the worst margin of a winning class k over a losing class j is

        margin + sum of the r largest over features of max over slots of (delta_k - delta_j),

    where delta is what a change adds to the logits. For a model that adds up scores of windows of neighbouring
    features (`windows`), a dynamic programme over positions keeps the best margin for every number of changes and every
    choice of the last width - 1 slots. All winning and losing classes are considered.

    Cost: no pass but that of the clean row and that of the witness.
    """

    exact: ClassVar[bool] = True
    batch_size: ClassVar[int] = 1024  # it takes parts of a batch as memory allows

    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """Models whose logits are sums of scores of features, or of windows of features."""
        if isinstance(victim, Windows):
            return too_coarse(victim)
        net = one_hot_net(victim, len(space.schema.features))
        if net is not None and not net.rest:
            return too_coarse(victim)
        return (
            "expected a model that adds up scores (linear in one-hot rows, or windows) for the certificate additive, "
            f"got {type(victim).__name__}. Use relaxation for dense layers, exact for any model at small budgets."
        )

    def run(self, problem: Problem, random: RowRandom) -> Claims:  # noqa: ARG002
        """Worst margins at every budget up to the threat's, and the points that attain them."""
        layout, victim = problem.candidates.layout, problem.victim
        model = WindowScores.of(victim) if isinstance(victim, Windows) else one_hot_net(victim, layout.features)
        assert model is not None  # `applies_to`
        radius, witness = torch.zeros_like(problem.rows), problem.clean_slots
        bound = torch.zeros(len(problem), dtype=torch.float64, device=radius.device)
        for rows in _parts(problem):
            radius[rows], witness[rows], bound[rows] = _claims(problem.take(rows), model)
        return Claims(radius, witness, bound)


def _parts(problem: Problem) -> Iterator[Int64[Tensor, "some"]]:
    """Rows that are computed together. The programme of windows is as wide as the feature with the most options."""
    layout, victim = problem.candidates.layout, problem.victim
    per_row = 8 * 4 * layout.options * problem.goal.wins.shape[1] ** 2
    if not isinstance(victim, Windows):
        yield from torch.arange(len(problem), device=problem.rows.device).split(max(1, problem.memory // per_row))
        return
    widest = problem.candidates.counts.amax(1)
    for options in widest.unique().tolist():
        size = max(1, problem.memory // (per_row * options**victim.width))
        yield from (widest == options).nonzero()[:, 0].split(min(size, _ROWS_AT_ONCE))


def _claims(problem: Problem, model: OneHotNet | WindowScores) -> tuple[Tensor, Tensor, Tensor]:
    pairs = Pairs.of(problem.goal)
    if isinstance(model, WindowScores):
        found = window_worst_case(model, problem.candidates, pairs, problem.budget)
    else:
        found = linear_worst_case(Terms.of(model, problem.candidates), pairs, problem.budget)
    worst, pair = pairs.worst(found.bounds, len(problem))
    radius = (worst <= -found.tolerance[:, None]).long().cumprod(1).sum(1)
    witness = problem.clean_slots
    open_ = (radius < problem.budget).nonzero()[:, 0]
    if len(open_):
        place = radius[open_]
        witness[open_] = found.points(pair[open_, place], place + 1)
    return radius, witness, worst[:, -1] + found.tolerance


def linear_worst_case(terms: Terms, pairs: Pairs, budget: int) -> WorstCase:
    """The worst difference of every pair within budgets 1, 2, ..., in closed form."""
    clean = pairs.difference(terms.clean)
    gains = pairs.difference(terms.delta)  # (pairs, options)
    layout = terms.candidates.layout
    by_feature = layout.reduce(gains, lambda rectangle: rectangle.amax(-1))
    slots = layout.argmax(gains)
    gain, feature = by_feature.topk(budget, dim=1)
    bounds = clean[:, None] + gain.cumsum(1)

    def points(pair: Int64[Tensor, "batch"], changes: Int64[Tensor, "batch"]) -> Slots:
        taken = torch.arange(feature.shape[1], device=pair.device) < changes[:, None]
        chosen = torch.zeros_like(slots[pair], dtype=torch.bool).scatter(1, feature[pair], taken)
        return torch.where(chosen, slots[pair], 0)

    return WorstCase(bounds, rounding(terms.magnitude.amax(1)), points)
