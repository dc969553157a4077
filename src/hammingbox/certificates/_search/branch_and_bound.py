"""Branch and bound over changes, for a network with one hidden layer: exact up to rounding.

A node is a set of changes already made, the number still allowed, and the features they may come from. Features are
ordered by what they could gain at the root; a node's further changes come from later features only, so every set of
changes is one node. A node is dropped if a linear bound over everything below it does not exceed minus the tolerance.
With one change left, the points themselves are evaluated.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from hammingbox.certificates._search.linear_bounds import Interval, relu_lines
from hammingbox.certificates._search.one_hot_net import OneHotNet, Terms

_AT_ONCE = 2048
"""Nodes that are bounded together: their gains over all options then fit into the CPU's caches."""


@dataclass(frozen=True, eq=False)
class _Nodes:
    item: Int64[Tensor, "nodes"]
    hidden: Float64[Tensor, "nodes hidden"]
    first: Int64[Tensor, "nodes"]
    """Place, in the item's order of features, of the first feature that may still change."""
    changes: Int64[Tensor, "nodes budget"]
    """Options taken so far; -1 where none is."""
    left: int

    def take(self, rows: Tensor) -> "_Nodes":
        return _Nodes(self.item[rows], self.hidden[rows], self.first[rows], self.changes[rows], self.left)

    def __len__(self) -> int:
        return len(self.item)


@dataclass(eq=False)
class Tree:
    """The search for a batch of items, each a row with one winning class.

    Args:
        net: one hidden layer.
        terms: of the batch of rows.
        rows: row of each item.
        wins: its winning class.
        loses: the losing class that is used in bounds.
        losing: all losing classes of the item; they decide whether a point breaks the row.
        order: features of each item, the most promising first.
        tolerance: of each item.
        budget: the largest number of changes of any search.
    """

    net: OneHotNet
    terms: Terms
    rows: Int64[Tensor, "items"]
    wins: Int64[Tensor, "items"]
    loses: Int64[Tensor, "items"]
    losing: Bool[Tensor, "items classes"]
    order: Int64[Tensor, "items features"]
    tolerance: Float64[Tensor, "items"]
    budget: int
    nodes: Int64[Tensor, "batch"] = field(init=False)
    best: Float64[Tensor, "batch"] = field(init=False)
    """The largest margin of any point evaluated so far."""
    witness: Int64[Tensor, "batch budget"] = field(init=False)
    """Its options; -1 where there is none."""

    def __post_init__(self) -> None:
        layer, batch = self.net.rest[0], len(self.terms.clean)
        device = self.rows.device
        self._weight = layer.weight[self.wins] - layer.weight[self.loses]
        self._offset = layer.bias[self.wins] - layer.bias[self.loses]
        options, moves = self.terms.grid
        self._options = options[self.order]  # (items, features, slots)
        self._moves = moves[self.rows[:, None], self.order]
        self._delta = self.terms.delta[self.rows[:, None, None], self._options]  # (items, features, slots, hidden)
        up, down = self._delta.amax(2).clamp(min=0), (-self._delta).amax(2).clamp(min=0)
        self._up = [top_sums_after(up, count) for count in range(1, self.budget + 1)]
        self._down = [top_sums_after(down, count) for count in range(1, self.budget + 1)]
        self.nodes = torch.zeros(batch, dtype=torch.int64, device=device)
        self.best = torch.full((batch,), -torch.inf, dtype=torch.float64, device=device)
        self.witness = torch.full((batch, self.budget), -1, dtype=torch.int64, device=device)

    def search(self, rows: Bool[Tensor, "batch"], changes: int, limit: int) -> Bool[Tensor, "batch"]:
        """Looks for a point of `rows` with at most so many changes that breaks them.

        Returns:
            Rows that are decided: broken (`best` above their tolerance), or without any point above minus it. The rest
            met the limit of nodes.
        """
        items = rows[self.rows].nonzero()[:, 0]
        self._given_up = torch.zeros_like(rows)
        stack = [
            _Nodes(
                items,
                self.terms.clean[self.rows[items]],
                torch.zeros_like(items),
                torch.full((len(items), self.budget), -1, dtype=torch.int64, device=items.device),
                changes,
            )
        ]
        while stack:
            nodes = stack.pop()
            nodes = nodes.take(self._is_open(nodes, limit))
            if not len(nodes):
                continue
            if len(nodes) > _AT_ONCE:
                number = torch.arange(len(nodes), device=items.device)
                stack += [nodes.take(number[_AT_ONCE:]), nodes.take(number[:_AT_ONCE])]
                continue
            self.nodes.index_add_(0, self.rows[nodes.item], torch.ones_like(nodes.item))
            children = self._expanded(nodes)
            if nodes.left == 1:
                self._evaluate(children)
            elif len(children):
                stack.append(children)
        return rows & ~self._given_up

    def _is_open(self, nodes: _Nodes, limit: int) -> Bool[Tensor, "nodes"]:
        row = self.rows[nodes.item]
        broken = self.best[row] > self.tolerance[nodes.item]
        over = ~broken & (self.nodes[row] >= limit)
        self._given_up[row[over]] = True
        return ~broken & ~self._given_up[row]

    def _expanded(self, nodes: _Nodes) -> _Nodes:
        """The nodes with one change more whose bound exceeds minus the tolerance."""
        item, left = nodes.item, nodes.left
        interval = Interval(
            nodes.hidden - self._down[left - 1][item, nodes.first], nodes.hidden + self._up[left - 1][item, nodes.first]
        )
        lines = relu_lines(self._weight[item][:, None], interval)
        slope = lines.slope[:, 0]
        here = (slope * nodes.hidden).sum(1) + lines.offset[:, 0] + self._offset[item]
        gains = torch.einsum("nh,nfsh->nfs", slope, self._delta[item])
        places = torch.arange(gains.shape[1], device=item.device)
        allowed = self._moves[item] & (places >= nodes.first[:, None])[:, :, None]
        gains = gains.masked_fill(~allowed, -torch.inf)
        bound = here[:, None, None] + gains
        if left > 1:
            after = top_sums_after(gains.amax(2).clamp(min=0)[..., None], left - 1)[..., 0]
            bound = bound + after[:, 1:, None]
        parent, place, slot = (bound > -self.tolerance[item][:, None, None]).nonzero().unbind(1)
        own = item[parent]
        changes = nodes.changes[parent].clone()
        changes[:, left - 1] = self._options[own, place, slot]
        return _Nodes(own, nodes.hidden[parent] + self._delta[own, place, slot], place + 1, changes, left - 1)

    def _evaluate(self, points: _Nodes) -> None:
        """Offers points to the best of their rows."""
        if not len(points):
            return
        layer = self.net.rest[0]
        logits = points.hidden.clamp(min=0) @ layer.weight.T + layer.bias
        other = logits.masked_fill(~self.losing[points.item], -torch.inf).amax(1)
        margin = logits.gather(1, self.wins[points.item][:, None])[:, 0] - other
        row = self.rows[points.item]
        highest = torch.full_like(self.best, -torch.inf).scatter_reduce(0, row, margin, "amax")
        mine = (margin == highest[row]) & (margin > self.best[row])
        self.best[row[mine]] = margin[mine]
        self.witness[row[mine]] = points.changes[mine]


def top_sums_after(
    values: Float64[Tensor, "items features columns"], count: int
) -> Float64[Tensor, "items features_and_end columns"]:
    """The sum of the `count` largest values from each place on; 0 after the last.

    The values (1, 5, 2) have, for two, the sums (7, 7, 2, 0).
    """
    items, features, columns = values.shape
    found = torch.zeros(items, features + 1, columns, dtype=values.dtype, device=values.device)
    if count == 1:
        found[:, :-1] = values.flip(1).cummax(1).values.flip(1)
        return found
    best = torch.zeros(items, count, columns, dtype=values.dtype, device=values.device)
    for place in range(features - 1, -1, -1):
        best = torch.cat([best, values[:, place, None]], 1).topk(count, dim=1).values
        found[:, place] = best.sum(1)
    return found
