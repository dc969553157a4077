"""The worst case of a model that adds up scores of windows: a dynamic programme over positions."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from hammingbox.certificates._search.pairs import Pairs
from hammingbox.certificates.base import rounding
from hammingbox.threat.candidates import Candidates
from hammingbox.types import Slots
from hammingbox.victims.zoo.windows import Windows


class WorstCase(NamedTuple):
    """The largest difference (winning minus losing logit) of each pair within budgets 1, 2, ...

    Attributes:
        bounds: (pairs, budgets).
        tolerance: (batch,) what rounding may change a row's margin by.
        points: the points that attain the bounds of some pairs, one per row, with at most this many changes.
    """

    bounds: Float[Tensor, "pairs budgets"]
    tolerance: Float[Tensor, "batch"]
    points: Callable[[Int64[Tensor, "batch"], Int64[Tensor, "batch"]], Slots]


class _Grid(NamedTuple):
    """The options of every feature side by side, padded to the widest."""

    ids: Int64[Tensor, "batch features slots"]
    valid: Bool[Tensor, "batch features slots"]


def window_worst_case(victim: Windows, candidates: Candidates, pairs: Pairs, budget: int) -> WorstCase:
    """Exact worst cases of all pairs, by a dynamic programme.

    The state after feature f is the choice of slots of features f - width + 2 to f and the number of changes so far;
    its value is the largest sum of the scores of the windows that end at or before f. One step takes
    pairs x budget x slots ** width operations.
    """
    grid, width = _grid(candidates), victim.width
    slots, features = grid.ids.shape[2], grid.ids.shape[1]
    bias = pairs.difference(victim.bias.detach().double().expand(len(candidates), -1))
    value = _start(grid, pairs, width, budget)  # (pairs, changes, slots, ..., slots)
    magnitude = victim.bias.detach().double().abs().max().expand(len(candidates)).clone()
    steps: list[Tensor] = []
    for last in range(width - 1, features):
        scores = _scores(victim, grid, last - width + 1)  # (batch, slots ** width, classes)
        magnitude += scores.abs().amax((1, 2))
        gain = pairs.difference(scores).view(-1, 1, *(slots,) * width)
        # value has no axis for the new feature yet; taking a slot other than 0 uses one change more.
        kept = value[..., None]
        used = torch.cat([torch.full_like(kept[:, :1], -torch.inf), kept[:, :-1]], 1)
        is_clean = torch.arange(slots, device=value.device) == 0
        total = torch.where(is_clean, kept, used) + gain
        allowed = grid.valid[pairs.rows, last]
        total = total.masked_fill(~allowed.view(-1, 1, *(1,) * (width - 1), slots), -torch.inf)
        value, oldest = total.max(2)  # the oldest feature of the window leaves the state
        steps.append(oldest.to(torch.int16))
    exactly, state = value.flatten(1).unflatten(1, (budget + 1, -1)).max(2)  # with exactly so many changes
    most, changes = exactly.cummax(1)
    bounds = bias[:, None] + most[:, 1:]

    def points(pair: Int64[Tensor, "batch"], budgets: Int64[Tensor, "batch"]) -> Slots:
        return _traced(steps, pair, changes[pair, budgets], state, slots, width, features)

    return WorstCase(bounds, rounding(magnitude), points)


def _grid(candidates: Candidates) -> _Grid:
    layout = candidates.layout
    slots = torch.arange(int(layout.widths.max()), device=layout.widths.device)
    exists = slots < layout.widths[:, None]
    options = layout.starts[:, None] + torch.where(exists, slots, 0)
    return _Grid(candidates.ids[:, options], candidates.valid[:, options] & exists)


def _start(grid: _Grid, pairs: Pairs, width: int, budget: int) -> Tensor:
    """Value 0 for every valid choice of the first width - 1 features, at its number of changes."""
    slots = grid.ids.shape[2]
    choices = torch.cartesian_prod(*[torch.arange(slots, device=grid.ids.device)] * (width - 1)) if width > 1 else None
    value = torch.full(
        (len(pairs.rows), budget + 1, slots ** (width - 1)), -torch.inf, dtype=torch.float64, device=grid.ids.device
    )
    if choices is None:
        value[:, 0] = 0.0
        return value[..., 0]
    choices = choices.view(-1, width - 1)
    number = (choices != 0).sum(1)
    valid = torch.stack([grid.valid[:, place, choices[:, place]] for place in range(width - 1)]).all(0)[pairs.rows]
    for changes in range(min(budget, width - 1) + 1):
        value[:, changes] = torch.where(valid & (number == changes), 0.0, -torch.inf)
    return value.view(len(pairs.rows), budget + 1, *(slots,) * (width - 1))


def _scores(victim: Windows, grid: _Grid, window: int) -> Float64[Tensor, "batch combinations classes"]:
    """Scores of all combinations of slots of one window, the last feature fastest."""
    slots = torch.arange(grid.ids.shape[2], device=grid.ids.device)
    choices = torch.cartesian_prod(*[slots] * victim.width).view(-1, victim.width)
    ids = torch.stack([grid.ids[:, window + place, choices[:, place]] for place in range(victim.width)], -1)
    return victim.window_scores(window, ids).detach().double()


def _traced(
    steps: list[Tensor], pair: Tensor, changes: Tensor, state: Tensor, slots: int, width: int, features: int
) -> Slots:
    """Walks the programme backwards from the best last states of some pairs."""
    found = torch.zeros(len(pair), features, dtype=torch.int64, device=pair.device)
    number, last = state[pair, changes], changes.clone()
    for place in range(features - 1, features - width, -1):
        found[:, place] = number % slots
        number = number // slots
    for step in range(len(steps) - 1, -1, -1):
        # The state after feature f = step + width - 1 is the slots of features step + 1 to f.
        own = torch.zeros_like(number)
        for place in range(step + 1, step + width):
            own = own * slots + found[:, place]
        table = steps[step].flatten(1).unflatten(1, (-1, slots ** (width - 1)))
        oldest = table[pair, last, own].long()
        found[:, step] = oldest
        newest = oldest if width == 1 else found[:, step + width - 1]
        last = last - (newest != 0).long()
    return found
