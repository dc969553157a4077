"""HotFlip (Ebrahimi et al. 2018): flips chosen by first-order gain, greedy or with a beam."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import moved
from hammingbox.attacks.base import Attack
from hammingbox.problem import Problem, place_in_row
from hammingbox.seeding import RowRandom
from hammingbox.types import PointRows, PointSlots, Slots


@dataclass(frozen=True, kw_only=True)
class HotFlip(Attack):
    """Takes epsilon flips, each the one with the largest first-order gain at the current row.

    With a beam, the `beam` best partial rows by loss plus promised gain go on together. Rows that fall leave.

    Cost: 1 + (epsilon - 1) beam forward and backward passes, and beam more forward passes.

    Attributes:
        beam: how many partial rows go on; 1 is the greedy form.
    """

    needs_gradient: ClassVar[bool] = True

    beam: int = 1

    def run(self, problem: Problem, random: RowRandom) -> Slots:  # noqa: ARG002
        """One flip after the other."""
        best = Incumbent(problem)
        layout = problem.candidates.layout
        rows = best.standing()
        beams = best.slots[rows]  # one partial row for each row, `beam` of them after the first flip
        for _ in range(problem.budget):
            if len(rows) == 0:
                break
            part = problem.take(rows)
            loss, gain = first_order_gain(part, beams)
            untouched = layout.spread(beams == 0)
            promised = (loss[:, None] + gain).masked_fill(~(part.candidates.moves & untouched), -torch.inf)
            rows, beams = best_extensions(problem, rows, beams, promised, self.beam)
            scores = problem.score(rows, beams)
            best.offer(rows, beams, *scores)
            standing = ~best.fooled[rows]
            rows, beams = rows[standing], beams[standing]
        return best.slots


def best_extensions(
    problem: Problem, rows: PointRows, beams: PointSlots, value: Float[Tensor, "points options"], width: int
) -> tuple[Int64[Tensor, "found"], Int64[Tensor, "found features"]]:
    """The `width` most valuable distinct extensions of each row's partial rows, as a ragged list.

    Args:
        problem: of the whole batch.
        rows: the row each partial row belongs to.
        beams: the partial rows.
        value: of taking each option next; minus infinity where it may not be taken.
        width: how many partial rows of a row go on.
    """
    value, options = value.topk(min(width, value.shape[1]), dim=1)
    parents = torch.arange(len(rows), device=rows.device).repeat_interleave(value.shape[1])
    value, options = value.flatten(), options.flatten()
    real = value > -torch.inf
    parents, value, options = parents[real], value[real], options[real]
    slots, owner = moved(problem, beams[parents], options), rows[parents]
    # Best first within each row; a set of flips reached in two orders is kept once.
    order = torch.argsort(value, descending=True, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    slots, owner = slots[order], owner[order]
    keep = first_of_each(torch.cat([owner[:, None], slots], 1))
    slots, owner = slots[keep], owner[keep]
    kept = place_in_row(owner) < width
    return owner[kept], slots[kept]


def first_of_each(points: torch.Tensor) -> torch.Tensor:
    """Numbers of the first occurrence of every distinct point, in order."""
    _, group = torch.unique(points, dim=0, return_inverse=True)
    first = torch.full((int(group.max()) + 1 if len(group) else 0,), len(points), device=points.device)
    return first.scatter_reduce_(0, group, torch.arange(len(points), device=points.device), "amin").sort().values
