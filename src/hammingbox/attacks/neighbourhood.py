"""The rows one move away from a row: one change more, another category, one change given back for another."""

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks.visited import Visited
from hammingbox.problem import Problem
from hammingbox.types import ManySlots, OptionFloat, Slots


def best_moves(
    problem: Problem,
    here: Slots,
    gain: OptionFloat,
    visited: Visited,
    rows: Int64[Tensor, "batch"],
    tries: int,
) -> tuple[ManySlots, Int64[Tensor, "batch tries"]]:
    """The most promising moves from `here` that no row has tried before.

    A move takes one option, and at the full budget may give one changed feature back for it; the gain of such an
    exchange is taken to be the sum of its two parts.

    Args:
        problem: says what is valid and how many changes are.
        here: where each row stands.
        gain: promised gain of taking each option; slot 0 of a changed feature is the gain of giving it back.
        visited: what has been tried; the moves returned are added to it.
        rows: numbers of these rows in `visited`.
        tries: moves a row, fewer where fewer are left.

    Returns:
        The points moved to, and their keys; key 0 where a row has no move left.
    """
    layout = problem.candidates.layout
    changed = here != 0
    full = (changed.sum(1) >= problem.budget)[:, None]
    present = layout.starts + here  # the option each feature holds
    # Giving a feature back; the budget's worth of changed features is all there can be.
    back_gain, back = (
        gain.gather(1, layout.starts.expand_as(here)).masked_fill(~changed, -torch.inf).topk(problem.budget)
    )
    able = problem.candidates.valid.scatter(1, present, False)
    # Exchanges are formed from the best options only: all options times the budget need not fit the memory.
    gain, option = gain.masked_fill(~able, -torch.inf).topk(min(layout.options, max(256, 4 * tries)))
    feature = layout.feature_of[option]
    touched = changed.gather(1, feature)
    alone = gain.masked_fill(full & ~touched, -torch.inf)
    exchange = gain.masked_fill(~full | touched, -torch.inf)
    value = torch.cat([alone[..., None], exchange[..., None] + back_gain[:, None]], 2)  # (batch, option, 1 + budget)

    key_of, held = visited.key_of, visited.key_of[present]
    key = held.sum(1, keepdim=True) - held.gather(1, feature) + key_of[option]
    keys = torch.cat([key[..., None], key[..., None] - held.gather(1, back)[:, None]], 2).flatten(1)
    value = value.flatten(1).masked_fill(visited.knows(rows, keys), -torch.inf)
    value, chosen = value.topk(min(tries, value.shape[1]))
    keys = keys.gather(1, chosen).masked_fill(value == -torch.inf, 0)
    visited.add(rows, keys)

    taken, column = chosen // (1 + problem.budget), chosen % (1 + problem.budget)
    option = option.gather(1, taken)
    points = here[:, None].repeat(1, chosen.shape[1], 1)
    # Column 0 gives nothing back: it writes slot 0 where its own option is written next.
    given = torch.where(column > 0, back.gather(1, (column - 1).clamp(min=0)), layout.feature_of[option])
    points.scatter_(2, given[..., None], 0)
    points.scatter_(2, layout.feature_of[option][..., None], layout.slot_of[option][..., None])
    return points, keys
