"""Points that fit their rows' purses: changes are taken in an order, and what cannot be paid any more is left out."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.threat.candidates import Candidates, Purse, Tolls
from hammingbox.types import ManySlots, OptionMask, PointRows, PointSlots, RowInt, Slots


def tolls_of(candidates: Candidates) -> Tolls:
    """What each option takes from a purse.

    Raises:
        InputError: the candidates have no prices.
    """
    if candidates.tolls is None:
        raise InputError("expected candidates with prices, got some without.")
    return candidates.tolls


def pack(
    candidates: Candidates,
    purse: Purse,
    budget: int | Int64[Tensor, "points"],
    rows: PointRows,
    slots: PointSlots,
    priority: Float[Tensor, "points features"],
) -> PointSlots:
    """Points reduced to what their rows can pay: changes are kept in order of priority, as long as each can be paid.

    A change that is too dear by then is skipped, and cheaper ones after it may still be kept.

    Example: a row may spend 10 ticks. A point has changes of 1, 10 and 2 ticks, in this order of priority. The first
    one is kept, the second one cannot be paid any more, the third one can: the point costs 3.

    Args:
        candidates: give the tolls.
        purse: what each row may spend.
        budget: the largest number of changed features, of all points or of each.
        rows: the row of each point.
        slots: the points.
        priority: of each feature's change; the largest comes first.
    """
    real = slots != 0
    order = priority.masked_fill(~real, -torch.inf).argsort(dim=1, descending=True, stable=True)
    toll = tolls_of(candidates)[rows[:, None], candidates.layout.starts + slots]  # (points, features, 2)
    left = purse[rows]
    room = budget if isinstance(budget, Tensor) else torch.full_like(rows, budget)
    kept = torch.zeros_like(real)
    for feature in order[:, : int(real.sum(1).max()) if len(rows) else 0].unbind(1):
        price = toll.gather(1, feature[:, None, None].expand(-1, 1, 2))[:, 0]
        able = real.gather(1, feature[:, None])[:, 0] & (price <= left).all(1) & (room > 0)
        left = left - price * able[:, None]
        room = room - able.long()
        kept.scatter_(1, feature[:, None], able[:, None])
    return torch.where(kept, slots, 0)


def pack_samples(
    candidates: Candidates,
    purse: Purse,
    budget: int | Int64[Tensor, "batch samples"],
    slots: ManySlots,
    priority: Float[Tensor, "batch samples features"],
) -> ManySlots:
    """`pack` for the same number of points of every row."""
    batch, samples, _ = slots.shape
    rows = torch.arange(batch, device=slots.device).repeat_interleave(samples)
    most = budget.flatten() if isinstance(budget, Tensor) else budget
    return pack(candidates, purse, most, rows, slots.flatten(0, 1), priority.flatten(0, 1)).view_as(slots)


def affordable_moves(problem: Problem, slots: Slots) -> OptionMask:
    """The options that a point of each row can take without giving a change of another feature back."""
    layout, tolls = problem.candidates.layout, tolls_of(problem.candidates)
    present = tolls.gather(1, (layout.starts + slots)[..., None].expand(-1, -1, 2))  # (batch, features, 2)
    left = (problem.known_purse - present.sum(1))[:, None] + present.index_select(1, layout.feature_of)
    return problem.candidates.valid & (tolls <= left).all(2)


def most_features(problem: Problem) -> RowInt:
    """How many features each row can change at once: its cheapest changes, counted in changes and in ticks apart."""
    if problem.purse is None:
        return torch.full_like(problem.rows, problem.budget)
    layout, tolls = problem.candidates.layout, tolls_of(problem.candidates)
    never = torch.iinfo(torch.int64).max // (layout.features + 1)
    count = torch.full_like(problem.rows, problem.budget)
    for kind in range(2):
        dear = tolls[..., kind].masked_fill(~problem.candidates.moves, never)
        cheapest = layout.reduce(dear, lambda rectangle: rectangle.amin(-1)).sort(1).values
        count = count.minimum((cheapest.cumsum(1) <= problem.purse[:, kind, None]).sum(1))
    return count


def change_weights(problem: Problem) -> Float[Tensor, "batch options"]:
    """What each option takes of its row's purse, in units of the changes that the row can make at most.

    It is 1 for every change where all prices are 1: the purse is then the number of changes, epsilon.
    """
    share = tolls_of(problem.candidates).double() / problem.known_purse.clamp(min=1)[:, None]
    return (share.amax(2) * most_features(problem)[:, None]).float()


def pack_problem(
    problem: Problem, rows: PointRows, slots: PointSlots, priority: Float[Tensor, "points features"]
) -> Int64[Tensor, "points features"]:
    """`pack` with the purse of a problem; points are returned as they are where there is none."""
    if problem.purse is None:
        return slots
    return pack(problem.candidates, problem.purse, problem.budget, rows, slots, priority)
