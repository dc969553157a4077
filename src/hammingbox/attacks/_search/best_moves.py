"""The most promising untried moves from the current point of every row."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.guide import Gains, Guide
from hammingbox.attacks._search.paid_moves import paid_moves
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.types import ManySlots, Slots


def best_moves(
    problem: Problem,
    guide: Guide,
    here: Slots,
    visited: Visited,
    rows: Int64[Tensor, "batch"],
    tries: int,
) -> tuple[ManySlots, Int64[Tensor, "batch tries"]]:
    """The most promising moves from `here` to points that their rows have not tried.

    A move takes one option. A row that has spent its budget can take an option of an unchanged feature only in exchange
    for one of its changes. Moves are a table of (option, 1 + budget): column 0 takes the option alone, column j
    exchanges the j-th change for it. The gain of an exchange is taken to be the sum of its two parts. See `paid_moves`
    where changes have prices.

    Example: at budget 2 a row has changed features 0 and 3, so its budget is spent.

    - Feature 0 to another slot, or back to slot 0: column 0.
    - Feature 1 to slot 2: column 1 changes feature 0 back for it, column 2 changes feature 3 back; column 0 is refused.
    - The keys of these points are the key of `here` plus the key of (1, 2) minus that of the option given back.

    Args:
        problem: gives the valid options and the budget.
        guide: gives the gains.
        here: the current point of each row.
        visited: the points that have been tried; the moves returned are added to it.
        rows: numbers of these rows in `visited`.
        tries: number of moves per row; fewer where fewer are left.

    Returns:
        The points moved to, and their keys. The key is 0 where a row has no move left.
    """
    if problem.purse is not None:
        return paid_moves(problem, guide, here, visited, rows, tries)
    layout = problem.candidates.layout
    changed = here != 0
    full = (changed.sum(1) >= problem.budget)[:, None]
    present = layout.starts + here  # the current option of each feature
    gain = guide.gain(problem, rows, here)
    alone = guide.value(problem, rows, here, gain).masked_fill(~problem.candidates.valid, -torch.inf)
    alone.scatter_(1, present, -torch.inf)
    # Exchanges are formed from the best options only: all options times the budget may not fit into memory.
    alone, option = alone.topk(min(layout.options, max(256, 4 * tries)))
    feature = _at(layout.feature_of, option)
    touched = changed.gather(1, feature)
    # The features that can be changed back; a row has at most `budget` of them.
    real, back = changed.long().topk(problem.budget)
    of_option, of_back = (_take(gain, options) for options in (option, _at(layout.starts, back)))
    exchange = guide.value(problem, rows, here, of_option[:, :, None] + of_back[:, None])  # (batch, option, budget)
    refused = (~full | touched | (alone == -torch.inf))[..., None] | (real == 0)[:, None]
    alone = alone.masked_fill(full & ~touched, -torch.inf)
    value = torch.cat([alone[..., None], exchange.masked_fill(refused, -torch.inf)], 2)  # (batch, option, 1 + budget)

    held = _at(visited.key_of, present)
    key = held.sum(1, keepdim=True) - held.gather(1, feature) + _at(visited.key_of, option)
    exchanged = key[..., None] - held.gather(1, back)[:, None]
    keys = torch.cat([key[..., None], exchanged], 2).flatten(1)
    # An option is taken either alone or in exchanges. What is refused need not be looked up, so column 0 and column 1
    # share a place.
    exchanged[..., 0] = torch.where(full & ~touched, exchanged[..., 0], key)
    known = visited.knows(rows, exchanged.flatten(1)).view(exchanged.shape)
    value = value.masked_fill_(torch.cat([known[..., :1], known], 2), -torch.inf).flatten(1)
    value, chosen = value.topk(min(tries, value.shape[1]))
    keys = keys.gather(1, chosen).masked_fill(value == -torch.inf, 0)
    visited.add(rows, keys)

    taken, column = chosen // (1 + problem.budget), chosen % (1 + problem.budget)
    option, feature = option.gather(1, taken), feature.gather(1, taken)
    points = here[:, None].repeat(1, chosen.shape[1], 1)
    # Column 0 changes nothing back: it writes slot 0 to the feature of its own option, which is written next.
    given = torch.where(column > 0, back.gather(1, (column - 1).clamp(min=0)), feature)
    points.scatter_(2, given[..., None], 0)
    points.scatter_(2, feature[..., None], _at(layout.slot_of, option)[..., None])
    return points, keys


def _at(table: Int64[Tensor, "size"], places: Int64[Tensor, "batch some"]) -> Int64[Tensor, "batch some"]:
    """`table[places]`, in half of the time."""
    return table.index_select(0, places.flatten()).view(places.shape)


def _take(gain: Gains, options: Int64[Tensor, "batch some"]) -> Float[Tensor, "batch some parts"]:
    """The gains of some options of every row."""
    return gain.gather(1, options[..., None].expand(-1, -1, gain.shape[2]))
