"""Networks of dense layers: linear bounds, made complete by branch and bound where there is one hidden layer."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.certificates._search.branch_and_bound import Tree
from hammingbox.certificates._search.linear_bounds import intervals_of, largest, upper_line
from hammingbox.certificates._search.one_hot_net import OneHotNet, Terms, one_hot_net
from hammingbox.certificates._search.pairs import Pairs
from hammingbox.certificates.base import Certificate, rounding, too_coarse
from hammingbox.certificates.result import Claims
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import Space
from hammingbox.types import RowFloat, Slots
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, kw_only=True)
class Relaxation(Certificate):
    """Linear bounds on the logits under the budget; with one hidden layer also a search that decides every row.

    Guarantee: a row is proven at r if an upper bound on the margin of every point with at most r changes is below minus
    the tolerance. The bounds (CROWN) hold for networks of any depth whose first layer is linear in the one-hot row.
    They are nearly tight for one hidden layer. There, branch and bound decides the rows that they leave open, up to
    rounding: it ends with a point that breaks the row or with none left. For deeper networks the bounds stand alone: a
    row that they do not prove, and whose worst point under the bounds does not break it, is unknown.

    Cost: no pass but that of the clean row and that of the witness.

    Attributes:
        nodes: sets of changes per row that are bounded at most; a row that needs more stays unknown, with the radius
            that was proven before.
    """

    nodes: int = 200_000

    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """Dense layers with ReLUs between them."""
        net = one_hot_net(victim, len(space.schema.features))
        if net is not None and net.rest:
            return too_coarse(victim)
        remedy = "Use additive." if net is not None else "Use exact, which decides any model at small budgets."
        return (
            "expected dense layers with ReLUs between them (Victim.layers) for the certificate relaxation, "
            f"got {type(victim).__name__}. {remedy}"
        )

    def run(self, problem: Problem, random: RowRandom) -> Claims:  # noqa: ARG002
        """Bounds at every budget up to the threat's; with one hidden layer also the search."""
        layout = problem.candidates.layout
        net = one_hot_net(problem.victim, layout.features)
        assert net is not None
        widest = max(len(net.bias), *(len(layer.bias) for layer in net.rest))
        per_row = 8 * 4 * (layout.options * widest * (1 if len(net.rest) == 1 else 2) + widest**2)
        size = max(1, min(64, problem.memory // per_row))
        parts = torch.arange(len(problem), device=problem.rows.device).split(size)
        claims = [self._part(problem.take(rows), net) for rows in parts]
        radius, witness, bound = (torch.cat([part[i] for part in claims]) for i in range(3))
        return Claims(radius, witness, bound)

    def _part(self, problem: Problem, net: OneHotNet) -> tuple[Tensor, Tensor, Tensor]:
        terms, pairs = Terms.of(net, problem.candidates), Pairs.of(problem.goal)
        tolerance = _tolerance(net, terms)
        bounds = torch.stack([_pair_bounds(net, terms, pairs, r) for r in range(1, problem.budget + 1)], 1)
        worst, pair = pairs.worst(bounds, len(problem))
        radius = (worst <= -tolerance[:, None]).long().cumprod(1).sum(1)
        bound = worst[:, -1] + tolerance
        open_ = radius < problem.budget
        place = radius.clamp(max=problem.budget - 1)
        if not bool(open_.any()):
            return radius, problem.clean_slots, bound
        if len(net.rest) > 1:
            chosen = pair.gather(1, place[:, None])[:, 0]
            return radius, torch.where(open_[:, None], _worst_points(net, terms, pairs, chosen, place + 1), 0), bound
        return self._searched(problem, net, terms, pairs, bounds, tolerance, radius, bound)

    def _searched(
        self,
        problem: Problem,
        net: OneHotNet,
        terms: Terms,
        pairs: Pairs,
        bounds: Float64[Tensor, "pairs budgets"],
        tolerance: RowFloat,
        radius: Tensor,
        bound: RowFloat,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Decides the rows that the bounds leave open, at one budget after the other."""
        open_ = radius < problem.budget
        rows = open_.nonzero()[:, 0]
        item = _items(pairs, bounds[:, -1], open_)
        gains = _root_gains(net, terms, pairs, item, problem.budget)
        tree = Tree(
            net, terms, pairs.rows[item], pairs.wins[item], pairs.loses[item], ~problem.goal.wins[pairs.rows[item]],
            gains.argsort(dim=1, descending=True), tolerance[pairs.rows[item]], problem.budget,
        )  # fmt: skip
        for changes in range(1 + int(radius[rows].min()), problem.budget + 1):
            searched = open_ & (radius == changes - 1)
            if not bool(searched.any()):
                continue
            decided = tree.search(searched, changes, self.nodes)
            # A best margin within the tolerance of 0 proves nothing; the victim is asked about the point.
            radius = torch.where(decided & (tree.best <= -tolerance), changes, radius)
            open_ = open_ & (radius >= changes)
        proven = radius >= problem.budget
        bound = torch.where(proven, bound.clamp(max=0.0), bound)
        return radius, _as_slots(tree.witness, tree.best > -tolerance, problem), bound


def _tolerance(net: OneHotNet, terms: Terms) -> RowFloat:
    magnitude = terms.magnitude
    for layer in net.rest:
        magnitude = magnitude @ layer.weight.abs().T + layer.bias.abs()
    return rounding(magnitude.amax(1))


def _pair_bounds(net: OneHotNet, terms: Terms, pairs: Pairs, budget: int) -> Float64[Tensor, "pairs"]:
    """An upper bound on the difference of each pair."""
    lines = _pair_lines(net, terms, pairs, budget)
    return largest(terms, lines, budget)[pairs.rows, _place(pairs)]


def _pair_lines(net: OneHotNet, terms: Terms, pairs: Pairs, budget: int):  # type: ignore[no-untyped-def]
    """Lines above the differences of all pairs, as (batch, most pairs of a row, first layer)."""
    place = _place(pairs)
    layer, batch, most = net.rest[-1], len(terms.clean), int(place.max()) + 1
    weight = torch.zeros(batch, most, layer.weight.shape[1], dtype=torch.float64, device=terms.clean.device)
    offset = torch.zeros(batch, most, dtype=torch.float64, device=terms.clean.device)
    weight[pairs.rows, place] = layer.weight[pairs.wins] - layer.weight[pairs.loses]
    offset[pairs.rows, place] = layer.bias[pairs.wins] - layer.bias[pairs.loses]
    return upper_line(net, intervals_of(net, terms, budget), weight, offset)


def _place(pairs: Pairs) -> Int64[Tensor, "pairs"]:
    """The number of each pair among those of its row; pairs come row by row."""
    return torch.arange(len(pairs.rows), device=pairs.rows.device) - torch.searchsorted(pairs.rows, pairs.rows)


def _items(pairs: Pairs, bound: Float64[Tensor, "pairs"], open_: Tensor) -> Int64[Tensor, "items"]:
    """For each open row and winning class, the pair with the smallest bound."""
    classes = int(max(pairs.wins.max(), pairs.loses.max())) + 1
    group = pairs.rows * classes + pairs.wins
    order = torch.argsort(bound, stable=True)
    order = order[torch.argsort(group[order], stable=True)]
    first = torch.ones_like(order, dtype=torch.bool)
    first[1:] = group[order][1:] != group[order][:-1]
    chosen = order[first]
    return chosen[open_[pairs.rows[chosen]]]


def _root_gains(
    net: OneHotNet, terms: Terms, pairs: Pairs, item: Tensor, budget: int
) -> Float64[Tensor, "items features"]:
    """What each feature could add under the linear bound at the root."""
    slope = _pair_lines(net, terms, pairs, budget).slope[pairs.rows, _place(pairs)][item]
    gains = torch.einsum("ih,ioh->io", slope, terms.delta[pairs.rows[item]])
    return terms.candidates.layout.reduce(gains, lambda rectangle: rectangle.amax(-1))


def _worst_points(net: OneHotNet, terms: Terms, pairs: Pairs, pair: Tensor, changes: Tensor) -> Slots:
    """The points that attain the linear bounds of one pair per row: likely to break the row, if any does."""
    layout = terms.candidates.layout
    lines = _pair_lines(net, terms, pairs, int(changes.max()))
    slope = lines.slope[pairs.rows, _place(pairs)][pair]
    gains = torch.einsum("bh,boh->bo", slope, terms.delta)
    by_feature = layout.reduce(gains, lambda rectangle: rectangle.amax(-1))
    rank = by_feature.argsort(dim=1, descending=True).argsort(dim=1)
    return torch.where(rank < changes[:, None], layout.argmax(gains), 0)


def _as_slots(options: Tensor, found: Tensor, problem: Problem) -> Slots:
    """Points of a search, given as options, as slots; the clean row where nothing was found."""
    layout, slots = problem.candidates.layout, problem.clean_slots
    for column in options.unbind(1):
        row = (found & (column >= 0)).nonzero()[:, 0]
        slots[row, layout.feature_of[column[row]]] = layout.slot_of[column[row]]
    return slots
