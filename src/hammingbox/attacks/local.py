"""Local search on true losses, for black boxes: add, change, change back, exchange."""

from dataclasses import dataclass

from hammingbox.attacks._search.combinations import points_within
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import query_points
from hammingbox.attacks._search.surrogate import AdditiveSurrogate
from hammingbox.attacks._search.tabu_search import TabuSearch
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom

_SWEEP_AT_ONCE = 32


@dataclass(frozen=True, kw_only=True)
class Local(TabuSearch):
    """Tabu search (see :class:`TabuSearch`) without a gradient: a model learned from the answers ranks the moves.

    First `sweep` random single changes are tried, or all of them where there are fewer. These and all later answers
    train an additive model of the logits. The model ranks moves, as the gradient does in swap search, and proposes
    points to restart from. No point is tried twice.

    Cost: at most 1 + sweep + steps tries + restarts starts forward passes per row, with (steps - 1) // patience
    restarts, and no more than there are points within the budget. See :meth:`TabuSearch.points_walked`.

    Attributes:
        sweep: single changes tried first.
    """

    steps: int = 100
    tries: int = 8
    sweep: int = 256

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Sweeps, then walks."""
        visited = Visited(problem.candidates.layout, len(problem))
        guide = AdditiveSurrogate(problem, best, visited, random)
        self._sweep(problem, random, guide, best, visited)
        self.walk(problem, random, guide, best, visited)

    def search_passes(self, problem: Problem) -> Passes:
        """The sweep and the walk, and no point twice."""
        sweep = problem.candidates.moves.sum(1).clamp(max=self.sweep)
        points = points_within(problem.candidates.counts, problem.budget) - 1
        return Passes.of(problem, points.minimum(sweep + self.points_walked()))

    def _sweep(
        self, problem: Problem, random: RowRandom, guide: AdditiveSurrogate, best: Incumbent, visited: Visited
    ) -> None:
        """Tries single changes in random order, a few at a time, so that a row that is broken saves the rest."""
        layout = problem.candidates.layout
        noise = random.uniform(layout.options).masked_fill_(~problem.candidates.moves, -1.0)
        noise, options = noise.topk(min(self.sweep, layout.options))
        for start in range(0, options.shape[1], _SWEEP_AT_ONCE):
            chunk = slice(start, start + _SWEEP_AT_ONCE)
            rows = best.open_rows()
            if len(rows) == 0:
                break
            option = options[:, chunk].index_select(0, rows)
            points = option.new_zeros(*option.shape, layout.features)
            points.scatter_(2, layout.feature_of[option][..., None], layout.slot_of[option][..., None])
            real = noise[:, chunk].index_select(0, rows) >= 0
            guide.learn_singles(rows, option, query_points(problem, best, rows, points, real)[1])
            visited.add(rows, visited.key_of[option].masked_fill(~real, 0))
