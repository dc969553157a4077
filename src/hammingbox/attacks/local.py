"""Local search on true losses, for black boxes: add, change, give back, exchange."""

from dataclasses import dataclass

import torch

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import ask_points
from hammingbox.attacks._search.surrogate import Additive
from hammingbox.attacks._search.tabu_search import Guide, Walk
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom

_SWEEP_AT_ONCE = 32


@dataclass(frozen=True, kw_only=True)
class Local(Walk):
    """Walks by swaps (see :class:`Walk`) without a gradient: a model learned from the answers ranks the moves.

    First `sweep` random single changes are tried, all of them where there are fewer. From them and every later answer
    an additive model of the logits is kept, which ranks the moves as the gradient does for swap search and proposes
    where to start again.

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
        visited = Visited(problem.candidates.layout, len(problem))
        guide = Additive(problem, best, visited, random)
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
            guide.learn(rows, points, ask_points(problem.take(rows), best, rows, points, real)[1])
            visited.add(rows, visited.keys(points).masked_fill(~real, 0))
