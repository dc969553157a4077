"""Local search on true losses, for black boxes: add, change, give back, exchange."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks.base import Incumbent, try_points
from hammingbox.attacks.visited import Visited
from hammingbox.attacks.walk import Guide, Walk
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, OptionFloat, SampleFloat, Slots

_SWEEP_AT_ONCE = 32


class _Additive(Guide):
    """A model of the loss that adds up over options: clean loss + the sum of the worth of a row's changes.

    Every answer corrects it: what the model missed is shared among the changes of the row asked about (a step of
    Kaczmarz' method). A row with one change therefore teaches that option's worth exactly.
    """

    def __init__(self, problem: Problem, best: Incumbent) -> None:
        self.layout = problem.candidates.layout
        self.clean_loss = best.loss.clone()
        self.worth = torch.zeros(len(problem), self.layout.options, device=best.loss.device)

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> OptionFloat:  # noqa: ARG002
        worth = self.worth[rows]
        return worth - self.layout.spread(worth.gather(1, self.layout.starts + here))

    def learn(self, rows: Int64[Tensor, "batch"], points: ManySlots, loss: SampleFloat) -> None:
        options = self.layout.starts + points
        for point, answer in zip(options.unbind(1), loss.unbind(1), strict=True):
            changed = self.layout.slot_of[point] != 0
            worth = self.worth[rows[:, None], point]
            missed = (answer - self.clean_loss[rows])[:, None] - worth.sum(1, keepdim=True)
            step = missed / changed.sum(1, keepdim=True).clamp(min=1)
            asked = changed & (answer > -torch.inf)[:, None]
            self.worth[rows[:, None], point] = torch.where(asked, worth + step, worth)


@dataclass(frozen=True, kw_only=True)
class Local(Walk):
    """Walks by swaps (see :class:`Walk`) without a gradient: a model learned from the answers ranks the moves.

    First `sweep` random single changes are tried, all of them where there are fewer. From them and every later answer
    an additive model of the loss is kept, which ranks the moves as the gradient does for swap search.

    Cost: at most 1 + sweep + steps tries forward passes, and `starts` for every new start, of which there is at most
    one in `patience` steps.

    Attributes:
        sweep: single changes tried first.
    """

    steps: int = 100
    tries: int = 8
    sweep: int = 256

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Sweeps, then walks."""
        guide, visited = _Additive(problem, best), Visited(problem.candidates.layout, len(problem))
        self._sweep(problem, random, guide, best, visited)
        self.walk(problem, random, guide, best, visited)

    def _sweep(self, problem: Problem, random: RowRandom, guide: Guide, best: Incumbent, visited: Visited) -> None:
        """Tries single changes in random order, a few at once, so that a row that falls saves the rest."""
        layout = problem.candidates.layout
        noise = random.uniform(layout.options).masked_fill_(~problem.candidates.moves, -1.0)
        noise, options = noise.topk(min(self.sweep, layout.options))
        for chunk in torch.arange(options.shape[1], device=options.device).split(_SWEEP_AT_ONCE):
            rows = best.standing()
            if len(rows) == 0:
                break
            option = options[rows][:, chunk]
            points = problem.clean_slots[rows][:, None].repeat(1, len(chunk), 1)
            points.scatter_(2, layout.feature_of[option][..., None], layout.slot_of[option][..., None])
            real = noise[rows][:, chunk] >= 0
            loss = try_points(problem.take(rows), best, rows, points, real)
            guide.learn(rows, points, loss)
            visited.add(rows, visited.keys(points).masked_fill(~real, 0))
