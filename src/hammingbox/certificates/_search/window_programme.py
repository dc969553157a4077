"""The worst case of a model that adds up scores of windows: a dynamic programme over the number of changes."""

from collections.abc import Callable
from math import prod
from types import EllipsisType
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


class WindowScores(NamedTuple):
    """A model of windows as the programme reads it, in float64.

    Attributes:
        weight: for each class, a score for each combination of categories of each window.
        bias: of each class.
        starts: where the combinations of each window begin.
        radix: how many combinations a category of each place of a window stands for.
        tolerance: what rounding may change a margin by.
    """

    weight: Float64[Tensor, "classes entries"]
    bias: Float64[Tensor, "classes"]
    starts: Int64[Tensor, "windows"]
    radix: Int64[Tensor, "windows width"]
    tolerance: Float64[Tensor, ""]

    @staticmethod
    def of(victim: Windows) -> "WindowScores":
        """Those of a model. Sums of float32 scores are then exact but for the last bits of the longest ones."""
        weight, bias = victim.table().detach().double().T.contiguous(), victim.bias.detach().double()
        window = torch.zeros_like(weight[0], dtype=torch.int64)
        window[victim.starts[1:]] = 1
        largest = torch.zeros(len(victim.starts), dtype=weight.dtype, device=weight.device)
        largest = largest.scatter_reduce(0, window.cumsum(0), weight.abs().amax(0), "amax")
        return WindowScores(weight, bias, victim.starts, victim.radix, rounding(largest.sum() + bias.abs().max()))

    @property
    def width(self) -> int:
        """Features of a window."""
        return self.radix.shape[1]


def window_worst_case(model: WindowScores, candidates: Candidates, pairs: Pairs, budget: int) -> WorstCase:
    """Exact worst cases of all pairs, by a dynamic programme.

    Changes are made from the first feature to the last. What a change of feature f adds depends on the options of the
    width - 1 features before it, its context, as all later ones are still clean. So the best value with c changes of
    which the last is at f needs only the best value with c - 1 changes for every context: one step per change, over
    all features, contexts and pairs at once, in pairs x features x options ** width operations. Pairs are the last axis
    of every tensor, so that all of them are computed side by side.
    """
    grid, width = OptionGrid.of(candidates), model.width
    if grid.ids.shape[2] == 1:  # nothing can change: an option that may not be chosen stands for what could
        ids, valid, slots = (part.repeat(1, 1, 2) for part in grid)
        grid = OptionGrid(ids, valid & (torch.arange(2, device=ids.device) == 0), slots)
    room = _Room.of(grid, width, len(pairs.rows), budget)
    clean = _fill_scores(room, model, grid, pairs)
    _fill_gains(room, grid, pairs)
    gains, befores = room.gains, room.befores
    befores.fill_(-torch.inf)
    befores[_at(0, slice(None), *(0,) * (width - 1))] = 0
    values, lasts = gains[_at(slice(None), *(0,) * (width - 1))], []  # the context of a first change is clean
    for before in befores[1:]:
        lasts.append(_one_change_more(values, before))
        values = torch.add(before.unsqueeze(-2), gains, out=room.values)
    lasts.append(values.flatten(1, -2).amax(1))
    exactly = torch.stack([torch.zeros_like(clean), *(last.amax(0) for last in lasts)], 1)
    most, changes = exactly.cummax(1)

    def points(pair: Int64[Tensor, "batch"], budgets: Int64[Tensor, "batch"]) -> Slots:
        places = _traced(room.scores, befores, lasts, pair, changes[pair, budgets])
        return grid.slots[pairs.rows[pair]].gather(2, places[:, :, None])[:, :, 0]

    return WorstCase(clean[:, None] + most[:, 1:], model.tolerance.expand(len(candidates)), points)


class _Room(NamedTuple):
    """The tensors of a programme, in one piece of memory: the allocator then keeps it for the next programme.

    Attributes:
        scores: what each combination of options of each window adds to each pair. There are width - 1 windows more
            before and after the others, which reach beyond the features and score 0: so every feature is in as many
            windows as they are wide.
        gains: what changing a feature adds in every context, the options of the width - 1 features before it, while
            all features after it are clean. Minus infinity for an option that may not be chosen. They take the place of
            the scores, of which those with a clean last option stay.
        befores: for every number of changes, the best value before the next one, by its feature and context.
        values: the gains, added to the best values before them.
    """

    scores: Float64[Tensor, "windows_and_more *options pairs"]
    gains: Float64[Tensor, "features *context changed pairs"]
    befores: Float64[Tensor, "changes features *context pairs"]
    values: Float64[Tensor, "features *context changed pairs"]

    @staticmethod
    def of(grid: OptionGrid, width: int, pairs: int, budget: int) -> "_Room":
        _, features, options = grid.ids.shape
        context = (options,) * (width - 1)
        shapes = (
            (features + width - 1, *context, options, pairs),
            (features, *context, options - 1, pairs) if budget > 1 else (0,),
            (budget, features, *context, pairs),
        )
        sizes = [prod(shape) for shape in shapes]
        whole = torch.empty(sum(sizes), dtype=torch.float64, device=grid.ids.device)
        scores, values, befores = (part.view(shape) for part, shape in zip(whole.split(sizes), shapes, strict=True))
        return _Room(scores, scores[:features, ..., 1:, :], befores, values)


def _fill_scores(room: _Room, model: WindowScores, grid: OptionGrid, pairs: Pairs) -> Float64[Tensor, "pairs"]:
    """Looks the scores up, and gives the difference of each pair at the clean row."""
    windows, width, classes = len(model.starts), model.width, len(model.bias)
    # One line of differences for each pair of classes that occurs.
    kinds, kind = torch.unique(pairs.wins * classes + pairs.loses, return_inverse=True)
    table = (model.weight[kinds // classes] - model.weight[kinds % classes]).flatten()
    number = torch.int32 if len(table) <= torch.iinfo(torch.int32).max else torch.int64  # the narrow one is faster
    ids = grid.ids.permute(1, 2, 0).index_select(2, pairs.rows).to(number)
    step = model.radix.to(number)[:, :, None, None]
    entry = (model.starts[:, None] + model.weight.shape[1] * kind).to(number)  # (windows, *options, pairs)
    for place in range(width):
        own = step[:, place] * ids[place : place + windows]
        entry = entry.unsqueeze(-2) + own.view(windows, *(1,) * place, *own.shape[1:])
    room.scores[: width - 1] = 0
    room.scores[width - 1 + windows :] = 0
    scores = room.scores[width - 1 : width - 1 + windows]
    torch.index_select(table, 0, entry.flatten(), out=scores.view(-1))
    bias = model.bias[pairs.wins] - model.bias[pairs.loses]
    return bias + scores[_at(slice(None), *(0,) * width)].sum(0)


def _fill_gains(room: _Room, grid: OptionGrid, pairs: Pairs) -> None:
    """Adds up what a change does to the windows that its feature is in."""
    features, width = len(room.gains), room.gains.dim() - 2
    gains: Tensor | None = None
    for after in range(width - 1, -1, -1):  # how many features of the window come after the changed one
        own = room.scores[after : after + features][_at(..., *(0,) * after, slice(None))]
        own = torch.sub(own[..., 1:, :], own[..., :1, :], out=None if after else room.gains)
        gains = own if gains is None else own.add_(gains.unsqueeze(1))
        if after == width - 1 and not bool(grid.valid.all()):
            gains.masked_fill_(~grid.valid[pairs.rows, :, 1:].permute(1, 2, 0), -torch.inf)


def _one_change_more(
    values: Float64[Tensor, "features *known changed pairs"], before: Float64[Tensor, "features *context pairs"]
) -> Float64[Tensor, "features pairs"]:
    """Writes the best values before the next change, by its feature and context; gives those by the last change.

    Args:
        values: the best values with the last change at each feature, for its options and its context, of which the
            first change has none: it is clean.
        before: filled with minus infinity, for a context that is impossible.
    """
    width = before.dim() - 1
    for place in range(width - 1, 0, -1):  # of the last change in the context of the next one, counted from 1
        if values.dim() - 2 > place:
            values = values.amax(1)  # the oldest feature leaves the context
        known, after = values.dim() - 3, width - place
        older = _at(*(0,) * (place - 1 - known), *(slice(None),) * known)
        before[_at(slice(after, None), *older, slice(1, None), *(0,) * (after - 1))] = values[:-after]
    last = values.amax(1)
    before[_at(slice(width, None), *(0,) * (width - 1))] = last.cummax(0).values[:-width]
    return last


def _traced(
    scores: Float64[Tensor, "windows_and_more *options pairs"],
    befores: Float64[Tensor, "changes features *context pairs"],
    lasts: list[Float64[Tensor, "features pairs"]],
    pair: Int64[Tensor, "batch"],
    changes: Int64[Tensor, "batch"],
) -> Int64[Tensor, "batch features"]:
    """The points behind the best values of some pairs, the last change first; options by their place in the grid."""
    features, width, options, device = len(lasts[0]), scores.dim() - 2, scores.shape[-2], pair.device
    # All choices of a changed option and of its context, the oldest feature first.
    every = [torch.arange(1, options, device=device), *[torch.arange(options, device=device)] * (width - 1)]
    choices = torch.cartesian_prod(*every).view(-1, width).flip(1)
    power = options ** torch.arange(width - 1, -1, -1, device=device)
    code = choices @ power  # a choice as one number; the changed option counts least
    modulus = options ** torch.arange(width + 1, device=device)
    rest = code % modulus[:, None]  # the last 0, 1, ... features of every choice
    context = code // options
    # The context of the first features reaches beyond them.
    found = torch.zeros(len(pair), width - 1 + features, dtype=torch.int64, device=device)
    window = torch.arange(width, device=device)
    decided = torch.full_like(pair, features)  # this feature and all later ones are
    ahead = torch.full_like(pair, -1)  # the feature of the next change, where the context of the last one has it
    for left in range(len(lasts), 0, -1):
        rows = (changes >= left).nonzero()[:, 0]
        own, since = pair[rows], decided[rows]
        later = torch.arange(features, device=device)[:, None] >= since
        best = lasts[left - 1][:, own].masked_fill(later, -torch.inf).argmax(0)
        place = torch.where(ahead[rows] < 0, best, ahead[rows])
        value = _looked_up(befores[left - 1], place, context, own) + _looked_up(scores, place, code, own)
        at = place[:, None] + window
        held = (found[rows[:, None], at] @ power)[:, None]
        known = (place + 1 - since).clamp(min=0)  # so many features of the choice are decided
        value.masked_fill_(rest[known] != held % modulus[known, None], -torch.inf)
        chosen = choices[value.argmax(1)]
        found[rows[:, None], at] = chosen
        decided[rows] = place + 1 - width
        ahead[rows] = torch.where(chosen[:, :-1] != 0, at[:, :-1] + 1 - width, -1).amax(1) if width > 1 else -1
    return found[:, width - 1 :]


def _at(*parts: int | slice | EllipsisType) -> tuple[int | slice | EllipsisType, ...]:
    """An index of parts whose number depends on the width."""
    return parts


def _looked_up(
    table: Float64[Tensor, "features *choices pairs"],
    feature: Int64[Tensor, "batch"],
    choice: Int64[Tensor, "some"],
    pair: Int64[Tensor, "batch"],
) -> Float64[Tensor, "batch some"]:
    """Some choices, by number, of one feature and one pair per row."""
    pairs = table.shape[-1]
    index = (feature * table[0].numel() + pair)[:, None] + choice * pairs
    return table.reshape(-1).index_select(0, index.flatten()).view(index.shape)
