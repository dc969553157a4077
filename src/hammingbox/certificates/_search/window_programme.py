"""The worst case of a model that adds up scores of windows: a dynamic programme over positions."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from hammingbox.certificates._search.option_grid import OptionGrid
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


def window_worst_case(victim: Windows, candidates: Candidates, pairs: Pairs, budget: int) -> WorstCase:
    """Exact worst cases of all pairs, by a dynamic programme.

    The state after feature f is the choice of options of features f - width + 2 to f and the number of changes so far;
    its value is the largest sum of the scores of the windows that end at or before f. One step takes
    pairs x budget x options ** width operations. Pairs are the last axis of every tensor, so that all of them are
    computed side by side.
    """
    grid, width = OptionGrid.of(candidates), victim.width
    gains = _gains(victim, grid, pairs)  # (windows, options, ..., options, pairs)
    value = _start(grid, pairs, width, budget)  # (changes, options, ..., options, pairs)
    # Taking an option other than the clean one, which is the first, uses one change more.
    total = torch.full((budget + 1, *gains.shape[1:]), -torch.inf, dtype=torch.float64, device=gains.device)
    clean, changed = total[..., 0, :], total[1:, ..., 1:, :]
    values = [value]
    for gain in gains:
        torch.add(value, gain[..., 0, :], out=clean)
        torch.add(value[:-1, ..., None, :], gain[..., 1:, :], out=changed)
        value = total.amax(1)  # the oldest feature of the window leaves the state
        values.append(value)
    exactly, state = value.reshape(budget + 1, -1, len(pairs.rows)).max(1)  # with exactly so many changes
    most, changes = exactly.T.cummax(1)
    bias = victim.bias.detach().double()
    bounds = (bias[pairs.wins] - bias[pairs.loses])[:, None] + most[:, 1:]

    def points(pair: Int64[Tensor, "batch"], budgets: Int64[Tensor, "batch"]) -> Slots:
        used = changes[pair, budgets]
        places = _traced(values, gains, pair, used, state[used, pair], width)
        return grid.slots[pairs.rows[pair]].gather(2, places[:, :, None])[:, :, 0]

    magnitude = _magnitude(victim).expand(len(candidates))
    return WorstCase(bounds, rounding(magnitude), points)


def _gains(victim: Windows, grid: OptionGrid, pairs: Pairs) -> Float64[Tensor, "windows *options pairs"]:
    """What each combination of options of each window adds to each pair; minus infinity for an invalid last option."""
    width, windows, options = victim.width, len(victim.starts), grid.ids.shape[2]
    rows, weight = pairs.rows, victim.table().detach().double()
    # One column of differences for each pair of classes that occurs.
    kinds, kind = torch.unique(torch.stack([pairs.wins, pairs.loses]), dim=1, return_inverse=True)
    table, columns = weight[:, kinds[0]] - weight[:, kinds[1]], kinds.shape[1]
    ids = grid.ids.permute(1, 2, 0).index_select(2, rows)  # (features, options, pairs)
    gains = torch.empty(windows, *(options,) * width, len(rows), dtype=torch.float64, device=ids.device)
    # Window by window: its numbers stay in the cache.
    for window, (start, radix) in enumerate(zip(victim.starts.tolist(), victim.radix.tolist(), strict=True)):
        number = kind + columns * start
        for place in range(width):
            own = ids[window + place] * (columns * radix[place])
            number = number.unsqueeze(-2) + own
        torch.take(table, number, out=gains[window])
    last = grid.valid[:, width - 1 :]
    if not bool(last.all()):
        last = last[rows].permute(1, 2, 0)  # (windows, options, pairs)
        gains.masked_fill_(~last.reshape(windows, *(1,) * (width - 1), options, -1), -torch.inf)
    return gains


def _start(grid: OptionGrid, pairs: Pairs, width: int, budget: int) -> Float64[Tensor, "changes *options pairs"]:
    """Value 0 for every valid choice of the first width - 1 features, at its number of changes."""
    options, device = grid.ids.shape[2], grid.ids.device
    shape = (options,) * (width - 1)
    number = torch.zeros(shape, dtype=torch.int64, device=device)
    valid = torch.ones(*shape, len(pairs.rows), dtype=torch.bool, device=device)
    changed = (torch.arange(options, device=device) != 0).long()
    for place in range(width - 1):
        axes = (*(1,) * place, options, *(1,) * (width - 2 - place))
        number = number + changed.view(axes)
        valid = valid & grid.valid[pairs.rows, place].T.view(*axes, -1)
    every = torch.arange(budget + 1, device=device).view(-1, *(1,) * width)
    value = torch.zeros(budget + 1, *valid.shape, dtype=torch.float64, device=device)
    return value.masked_fill_(~(valid & (number[..., None] == every)), -torch.inf)


def _magnitude(victim: Windows) -> Float64[Tensor, ""]:
    """The sum over windows of the largest absolute score."""
    weight = victim.table().detach().double().abs().amax(1)
    window = torch.zeros_like(weight, dtype=torch.int64)
    window[victim.starts[1:]] = 1
    largest = torch.zeros(len(victim.starts), dtype=weight.dtype, device=weight.device)
    return largest.scatter_reduce(0, window.cumsum(0), weight, "amax").sum() + victim.bias.detach().double().abs().max()


def _traced(
    values: list[Tensor], gains: Tensor, pair: Tensor, changes: Tensor, state: Tensor, width: int
) -> Int64[Tensor, "batch features"]:
    """Walks the programme backwards from the best last states of some pairs; options by their place in the grid."""
    windows, options, pairs = len(gains), gains.shape[1], gains.shape[-1]
    found = torch.zeros(len(pair), windows + width - 1, dtype=torch.int64, device=pair.device)
    # A state is the options of width - 1 features, written as one number, the last feature fastest.
    for place in range(windows + width - 2, windows - 1, -1):
        found[:, place] = state % options
        state = state // options
    every = torch.arange(options, device=pair.device)[:, None]
    inner = options ** max(0, width - 2)
    own = found[:, windows:] @ (options ** torch.arange(width - 2, -1, -1, device=pair.device))
    for window in range(windows - 1, -1, -1):
        # Window f goes from feature f, the oldest, to f + width - 1, the newest; `own` are all but the oldest.
        before, gain = values[window].view(-1, pairs), gains[window].view(-1, pairs)
        if width == 1:
            left = (changes - (every != 0).long()).clamp(min=0)
            total = before[left, pair].masked_fill((changes == 0) & (every != 0), -torch.inf) + gain[every, pair]
            oldest = total.argmax(0)
            newest = oldest
        else:
            newest = found[:, window + width - 1]
            left = changes - (newest != 0).long()
            earlier = every * inner + own // options
            total = before[left * options ** (width - 1) + earlier, pair] + gain[every * inner * options + own, pair]
            oldest = total.argmax(0)
            own = oldest * inner + own // options
        found[:, window] = oldest
        changes = changes - (newest != 0).long()
    return found
