"""The affordable points of rows, the cheapest first."""

import torch
from jaxtyping import Int, Int64, Shaped
from torch import Tensor

from hammingbox.attacks._search.knapsack import tolls_of
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.types import PointRows


def points_by_cost(
    problem: Problem, rows: Shaped[Tensor, "some"]
) -> tuple[PointRows, Int[Tensor, "points features"], Int64[Tensor, "points"]]:
    """All points that some rows can afford but the clean one, row after row and the cheapest of each row first.

    Features are added one by one, and what is too dear already is left out, so that no point is built in vain but for
    its last change.

    Returns:
        owner: the place in `rows` of each point.
        slots: the points, in two bytes per feature where slots fit, or else in four: there are many.
        ticks: what they cost.
    """
    part = problem.take(rows)
    if part.purse is None:
        raise InputError("expected a problem with prices, got one without.")
    candidates, layout, tolls = part.candidates, part.candidates.layout, tolls_of(part.candidates)
    owner = torch.arange(len(part), device=rows.device)
    small = torch.int16 if int(layout.widths.max()) <= torch.iinfo(torch.int16).max else torch.int32
    slots = torch.zeros(len(part), layout.features, dtype=small, device=rows.device)
    spent = torch.zeros(len(part), 3, dtype=torch.int64, device=rows.device)  # features, columns, ticks
    purse = torch.cat([torch.full_like(part.purse[:, :1], part.budget), part.purse], 1)
    for feature in (candidates.counts > 1).any(0).nonzero()[:, 0].tolist():
        count = candidates.counts[owner, feature]
        item = torch.repeat_interleave(torch.arange(len(owner), device=rows.device), count)
        digit = torch.arange(len(item), device=rows.device) - (count.cumsum(0) - count)[item]
        who = owner[item]
        slot = candidates.nth_valid(who[:, None], torch.full_like(who[:, None], feature), digit[:, None])[:, 0]
        price = tolls[who, layout.starts[feature] + slot]
        total = spent[item] + torch.cat([(slot != 0).long()[:, None], price], 1)
        paid = (total <= purse[who]).all(1)
        owner, spent, slots = who[paid], total[paid], slots[item[paid]]
        slots[:, feature] = slot[paid].to(small)
    changed = (slots != 0).any(1)
    owner, slots, ticks = owner[changed], slots[changed], spent[changed, 2]
    order = ticks.argsort(stable=True)
    order = order[owner[order].argsort(stable=True)]
    return owner[order], slots[order], ticks[order]
