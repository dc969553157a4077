"""Evaluating points on the victim: single changes, and lists of points per row."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.problem import Problem
from hammingbox.types import PointSlots, Slots


def try_moves(problem: Problem, slots: Slots, moves: Bool[Tensor, "batch options"]) -> tuple[Tensor, Tensor]:
    """Loss and success of every single change from `slots` that a mask allows.

    Returns:
        loss: (batch, options), minus infinity where no change was tried.
        fooled: (batch, options).

    Cost: one forward pass per change tried.
    """
    loss = torch.full(moves.shape, -torch.inf, device=slots.device)
    fooled = torch.zeros_like(moves)
    where = moves.nonzero()
    for part in problem.micro_batches(len(where)):  # the changed rows of all moves together may not fit into memory
        rows, options = where[part].unbind(1)
        if len(rows):
            scores = problem.score(rows, moved(problem, slots[rows], options))
            loss[rows, options], fooled[rows, options] = scores.loss, scores.fooled
    return loss, fooled


def try_points(
    problem: Problem,
    best: Incumbent,
    rows: Int64[Tensor, "some"],
    points: Int64[Tensor, "some points features"],
    wanted: Bool[Tensor, "some points"],
) -> Float[Tensor, "some points"]:
    """Losses of the wanted points, see :func:`query_points`."""
    return query_points(problem, best, rows, points, wanted)[0]


def query_points(
    problem: Problem,
    best: Incumbent,
    rows: Int64[Tensor, "some"],
    points: Int64[Tensor, "some points features"],
    wanted: Bool[Tensor, "some points"],
) -> tuple[Float[Tensor, "some points"], Float[Tensor, "some points classes"]]:
    """Evaluates the wanted points of some rows, as many as their query limit allows, and offers them to `best`.

    Args:
        problem: of the whole batch.
        best: the incumbent of the whole batch.
        rows: numbers of these rows in the batch, each once.
        points: the same number of points for each row.
        wanted: which of them to evaluate.

    Returns:
        Losses and logits. A point that was not evaluated has a loss of minus infinity and logits of NaN.

    Cost: one forward pass per wanted point.
    """
    loss = torch.full(wanted.shape, -torch.inf, dtype=torch.float32, device=points.device)
    shape = (*wanted.shape, best.clean_logits.shape[1])
    logits = torch.full(shape, torch.nan, dtype=torch.float32, device=points.device)
    fooled = torch.zeros_like(wanted)
    # One number per point instead of a row and a place: torch looks such an index up in half of the time.
    asked, every = wanted.flatten().nonzero()[:, 0], points.flatten(0, 1)
    owner = rows.index_select(0, asked // max(1, wanted.shape[1]))
    chosen = every.index_select(0, asked)
    if problem.is_limited:
        paid = problem.may_ask(owner, chosen)
        asked, owner, chosen = asked[paid], owner[paid], chosen[paid]
    if len(owner):
        answer = problem.logits(owner, chosen)
        scores = problem.judge(owner, answer)
        loss.view(-1).index_copy_(0, asked, scores.loss)
        fooled.view(-1).index_copy_(0, asked, scores.fooled)
        logits.view(-1, logits.shape[2]).index_copy_(0, asked, answer.float())
        best.offer_lists(rows, points, loss, fooled)
    return loss, logits


def moved(problem: Problem, slots: PointSlots, options: Int64[Tensor, "points"]) -> PointSlots:
    """Points after taking one option each."""
    layout = problem.candidates.layout
    return slots.scatter(1, layout.feature_of[options][:, None], layout.slot_of[options][:, None])
