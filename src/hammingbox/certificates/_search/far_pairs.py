"""Convolution nets: two changes that are far apart add up before the first dense ReLU.

A change at position i moves the convolutions' output at positions i - R to i + R only, where R is the reach of the
convolutions. If j is more than 2 R away, the two changes touch different positions, and the first dense layer, which is
linear in that output, moves by the sum of what each change moves it by alone. So all pairs of far changes follow from
the passes of single changes: 60 positions, 3 other letters and R = 6 leave about 6,000 passes of 16,000.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import moved
from hammingbox.problem import Problem
from hammingbox.types import Logits, PointRows, PointSlots
from hammingbox.victims.zoo.cnn import ConvNet

_DOUBT = 1e-4
"""Margins of sums and of passes agree up to this, relative to the largest logit above 1: nearer to 0 the victim is
asked itself."""


class Singles(NamedTuple):
    """What single changes of each row do.

    Attributes:
        hidden: the first dense layer of the clean row.
        delta: what each option moves it by; 0 where it is no move.
        impact: the best loss of each feature.
        worst: an upper bound on the margins of pairs that were computed, not asked for; pairs raise it.
    """

    hidden: Float[Tensor, "batch hidden"]
    delta: Float[Tensor, "batch options hidden"]
    impact: Float[Tensor, "batch features"]
    worst: Float[Tensor, "batch"]


def try_singles(victim: ConvNet, problem: Problem, best: Incumbent) -> Singles:
    """Tries every single change, and keeps what each does to the dense layer. Cost: one pass per change."""
    candidates, layout = problem.candidates, problem.candidates.layout
    hidden = victim.dense_input(candidates.clean)
    delta = torch.zeros(len(problem), layout.options, hidden.shape[1], device=hidden.device)
    loss = torch.full((len(problem), layout.options), -torch.inf, device=hidden.device)
    where = candidates.moves.nonzero()
    for part in problem.micro_batches(len(where)):
        rows, options = where[part].unbind(1)
        if not len(rows):
            continue
        slots = moved(problem, problem.clean_slots[rows], options)
        problem.meter.charge(problem.rows[rows])
        now = victim.dense_input(candidates.select_points(rows, slots))
        scores = problem.judge(rows, victim.dense_output(now))
        best.offer(rows, slots, *scores)
        loss[rows, options], delta[rows, options] = scores.loss, now - hidden[rows]
    impact = layout.reduce(loss, lambda rectangle: rectangle.amax(-1))
    return Singles(hidden, delta, impact, torch.full_like(hidden[:, 0], -torch.inf))


def try_far_pairs(victim: ConvNet, problem: Problem, best: Incumbent, singles: Singles) -> None:
    """Tries every pair of changes of features that are far apart. Cost: a pass only for pairs that may break a row."""
    layout = problem.candidates.layout
    position = torch.arange(layout.features, device=problem.rows.device)
    is_far = position - position[:, None] > 2 * victim.reach  # each pair once
    for row in (~best.fooled & ~best.settled).nonzero()[:, 0].tolist():
        options = problem.candidates.moves[row].nonzero()[:, 0]
        owner = layout.feature_of[options]
        first, second = is_far[owner[:, None], owner].nonzero().unbind(1)
        if not len(first):
            continue
        changed = singles.hidden[row] + singles.delta[row, options]
        logits = torch.cat(
            [
                victim.dense_output(changed[a] + singles.delta[row, options[b]])
                for a, b in zip(first.split(8192), second.split(8192), strict=True)
            ]
        )

        def slots(part: Tensor, first: Tensor = options[first], second: Tensor = options[second]) -> PointSlots:
            one = moved(problem, problem.clean_slots[:1].expand(len(part), -1), first[part])
            return moved(problem, one, second[part])

        ask_where_in_doubt(problem, best, singles, torch.full_like(first, row), logits, slots)


def ask_where_in_doubt(
    problem: Problem,
    best: Incumbent,
    singles: Singles,
    rows: PointRows,
    logits: Logits,
    slots: Callable[[Int64[Tensor, "some"]], PointSlots],
) -> None:
    """Asks the victim about points whose computed logits meet the goal, or nearly so; until their rows are broken.

    Args:
        problem: of all rows.
        best: where these points go.
        singles: whose bound rises.
        rows: of the points.
        logits: computed, not asked for.
        slots: the slots of some of the points.
    """
    margin = problem.goal.take(rows).margin(logits)
    reach = margin + _DOUBT * logits.abs().amax(1).clamp(min=1.0)
    singles.worst.scatter_reduce_(0, rows, reach, "amax")
    likely = (reach > 0).nonzero()[:, 0]
    likely = likely[margin[likely].argsort(descending=True)]
    while len(likely):
        part = likely[:64]
        written = slots(part)
        best.offer(rows[part], written, *problem.score(rows[part], written))
        likely = likely[64:]
        likely = likely[~best.fooled[rows[likely]]]
