"""The most promising untried moves from the current point of every row, where changes have prices."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.attacks._search.guide import Guide
from hammingbox.attacks._search.knapsack import tolls_of
from hammingbox.attacks._search.visited import Visited
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.types import ManySlots, Slots


class _Returned(NamedTuple):
    """Changes that moves give back, for one order in which a row gives its changes back.

    Attributes:
        features: the row's changed features in this order.
        chosen: for every option, which of them it takes to pay for the option.
        able: whether they suffice.
    """

    features: Int64[Tensor, "batch changes"]
    chosen: Bool[Tensor, "batch some changes"]
    able: Bool[Tensor, "batch some"]


def paid_moves(
    problem: Problem,
    guide: Guide,
    here: Slots,
    visited: Visited,
    rows: Int64[Tensor, "batch"],
    tries: int,
) -> tuple[ManySlots, Int64[Tensor, "batch tries"]]:
    """The most promising moves from `here` to affordable points that their rows have not tried.

    A move takes one option. If the row cannot pay for it, it gives changes back: one that suffices, or several in the
    order of what they are worth (the least valuable first) or of what they cost (the dearest first), as few as needed.
    Moves are a table of (option, 1 + changes + 2): column 0 takes the option alone, column j exchanges the j-th change
    for it, the last two give several back. The gain of a move is taken to be the sum of its parts.

    Example: a row may spend 10 ticks, and has changes A, B and C of 1, 1 and 3 ticks.

    - An option of 5 ticks: column 0.
    - An option of 6 ticks: columns 1 to 3, each of the changes pays for it.
    - An option of 10 ticks: all three changes are given back, in one of the last two columns.

    See `best_moves` for arguments and result.
    """
    if problem.purse is None:
        raise InputError("expected a problem with prices, got one without.")
    layout, changed = problem.candidates.layout, here != 0
    present = layout.starts + here
    gain = guide.gain(problem, rows, here)
    able = problem.candidates.valid.scatter(1, present, False)
    alone = guide.value(problem, rows, here, gain).masked_fill(~able, -torch.inf)
    alone, option = alone.topk(min(layout.options, max(64, 4 * tries)))
    feature = layout.feature_of[option]

    # What the point after each option would exceed the purse by: features, columns and ticks.
    tolls = tolls_of(problem.candidates)
    tolls = torch.cat([(layout.slot_of != 0).long().expand(len(here), -1)[..., None], tolls], 2)
    held = _take(tolls, present)
    purse = torch.cat([torch.full_like(problem.purse[:, :1], problem.budget), problem.purse], 1)
    missing = held.sum(1)[:, None] - _take(held, feature) + _take(tolls, option) - purse[:, None]
    pays = (missing <= 0).all(2)

    real, back = changed.long().topk(max(1, int(changed.sum(1).max())))
    of_option, of_back = _take(gain, option), _take(gain, layout.starts[back])
    other = (real != 0)[:, None] & (back[:, None] != feature[..., None])  # (batch, option, change)
    refunds = _take(held, back)
    single = (refunds[:, None] >= missing[:, :, None]).all(3) & other & ~pays[..., None]
    worth = guide.value(problem, rows, here, of_back)
    orders = [_returned(key, back, refunds, missing, other) for key in (worth, refunds[..., 2].float())]

    sums = of_option[:, :, None] + of_back[:, None]
    value = [alone.masked_fill(~pays, -torch.inf)[..., None]]
    value += [guide.value(problem, rows, here, sums).masked_fill(~single, -torch.inf)]
    key_of, held_keys = visited.key_of, visited.key_of[present]
    key = held_keys.sum(1, keepdim=True) - held_keys.gather(1, feature) + key_of[option]
    keys = [key[..., None], key[..., None] - held_keys.gather(1, back)[:, None]]
    for order in orders:
        given = _take(gain, layout.starts[order.features])
        total = of_option + torch.einsum("bok,bkp->bop", order.chosen.to(given.dtype), given)
        several = order.able & ~pays & (order.chosen.sum(2) > 1)
        value.append(guide.value(problem, rows, here, total).masked_fill(~several, -torch.inf)[..., None])
        keys.append((key - (held_keys.gather(1, order.features)[:, None] * order.chosen).sum(2))[..., None])
    value[-1] = value[-1].masked_fill(keys[-1] == keys[-2], -torch.inf)  # both orders give the same changes back

    columns = 3 + back.shape[1]
    table = torch.cat(value, 2).masked_fill(alone[..., None] == -torch.inf, -torch.inf).flatten(1)
    flat_keys = torch.cat(keys, 2).flatten(1)
    table = table.masked_fill(visited.knows(rows, flat_keys), -torch.inf)
    table, chosen = (part[:, :tries] for part in table.sort(dim=1, descending=True, stable=True))
    taken, column = chosen // columns, chosen % columns
    chosen_keys = flat_keys.gather(1, chosen).masked_fill(table == -torch.inf, 0)
    visited.add(rows, chosen_keys)

    given_back = torch.zeros(*chosen.shape, layout.features, dtype=torch.bool, device=here.device)
    is_single = (column > 0) & (column <= back.shape[1])
    place = (column - 1).clamp(0, back.shape[1] - 1)
    given_back.scatter_(2, back.gather(1, place)[..., None], is_single[..., None])
    for number, order in enumerate(orders):
        those = order.chosen.gather(1, taken[..., None].expand(-1, -1, back.shape[1]))
        those = those & (column == 1 + back.shape[1] + number)[..., None]
        where = order.features[:, None].expand_as(those)
        given_back |= torch.zeros_like(given_back).scatter_(2, where, those)
    points = here[:, None].repeat(1, chosen.shape[1], 1).masked_fill(given_back, 0)
    option = option.gather(1, taken)
    points.scatter_(2, layout.feature_of[option][..., None], layout.slot_of[option][..., None])
    return points, chosen_keys


def _returned(
    key: Float[Tensor, "batch changes"],
    back: Int64[Tensor, "batch changes"],
    refunds: Int64[Tensor, "batch changes kinds"],
    missing: Int64[Tensor, "batch some kinds"],
    other: Bool[Tensor, "batch some changes"],
) -> _Returned:
    """The first changes of an order that together give back what is missing.

    Args:
        key: the order, the largest first.
        back: changed features.
        refunds: what giving each of them back returns to the purse.
        missing: what each option lacks.
        other: the changes that may be given back for each option.
    """
    order = key.argsort(dim=1, descending=True, stable=True)
    some = order[:, None].expand_as(other)
    other, refunds = other.gather(2, some), _take(refunds, order)
    total = (refunds[:, None] * other[..., None]).cumsum(2)
    enough = (total >= missing[:, :, None]).all(3)
    before = torch.cat([torch.zeros_like(enough[..., :1]), enough[..., :-1]], 2)
    return _Returned(back.gather(1, order), other & ~before, enough.any(2))


def _take(values: Tensor, places: Int64[Tensor, "batch some"]) -> Tensor:
    """Some entries of the second axis of every row."""
    return values.gather(1, places[..., None].expand(-1, -1, values.shape[2]))
