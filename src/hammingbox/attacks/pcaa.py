"""PCAA: the probabilistic categorical adversarial attack (Algorithm 1 of the paper)."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.hard_samples import HardSamples
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import change_weights, most_features
from hammingbox.attacks._search.mirror_ascent import Gradient, mirror_ascent, soft_gradient
from hammingbox.attacks._search.new_draws import new_draws
from hammingbox.attacks._search.penalty_ascent import SMALLEST_PI, penalty_ascent
from hammingbox.attacks._search.points import try_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.distribution import Distribution, initial_log_pi
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, ManySlots, OptionFloat, RowFloat, Slots
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, kw_only=True)
class PCAA(Search):
    """Optimises one categorical distribution per feature by Gumbel-softmax gradients, and draws rows from it.

    Maximises E_{x'~pi} L(f(x'), y) - penalty [sum_i CE(x_i, pi_i) - zeta]+ (Eq. 3) in rounds. Each round takes the
    next zeta of a sweep, makes `steps` gradient steps, and scores `draws` draws from the resulting pi; the best row
    within the budget is kept. A row that is broken leaves before the next round.

    The defaults differ from the paper where measurements were in favour (the study `ladder` shows each change alone):

    - the margin loss instead of a cross entropy that saturates;
    - mirror ascent on log pi (`mirror_ascent`) from a start that depends on the number of options;
    - many short rounds. Each starts from a pi around the best draw of the last round, the current row, so that the
      rounds walk; after `patience` rounds without a new best row, one round starts from a pi around the clean row;
    - hard samples instead of soft ones (`HardSamples`): rows within the budget, which their gradient's forward pass
      scores;
    - draws that exchange one change of the current row (`exchanges`) and that no earlier draw has tried, the likeliest
      of many, with the mode of pi among them.

    Such draws are within the budget whatever pi is, so with one step per round zeta and lambda decide nothing.

    Where changes have prices, each term of the constraint is weighted by the mean price of its feature's changes under
    pi, as a share of what the row may spend: zeta bounds the expected cost instead of the expected number of changes.
    With all prices 1 this is Eq. 3. A draw is projected as a knapsack: its changes are kept in the order of their
    noisy log-odds, and one that cannot be paid any more is skipped.
    `PCAA.paper()` has the paper's form with the released numbers.

    Cost: at most rounds steps samples forward and backward passes per row, and 1 + rounds draws forward passes:
    constant in n, d and epsilon.

    Attributes:
        zetas: the sweep of the constraint's right-hand side, in units of `zeta_unit`; the rounds take them in turn.
        zeta_unit: "budget" multiplies zetas by epsilon, "feature" by n (the released code averages over features).
        rounds: how often Algorithm 1 runs.
        steps: I, gradient steps of a round.
        samples: n_g, Gumbel samples per step.
        hard: in mirror ascent, take gradients at hard samples.
        tau: softmax temperature of soft samples; mirror ascent uses tau / 2.
        penalty: lambda.
        learning_rate: gamma; in units of the initial log-odds, with "sign" in units of pi.
        ascent: mirror ascent, steepest ascent on log pi, both in turns, Adam on log pi, or the sign of the gradient on
            pi itself. In steepest ascent the largest entry of a row moves by the learning rate.
        start: changes expected under the first pi; the log-odds follow from it and the number of options. None starts
            from the paper's one-hot rows clipped into [1e-3, C].
        carry: a round starts from the pi of the last one, as in the released code, and not from that of `start`.
        recentre: log-odds of the current row's changes at the start of a round; None keeps pi around the clean row.
        patience: rounds without a new best row before a round starts from a pi around the clean row.
        ceiling: C, the largest pi.
        draws: rows drawn in each round.
        drawing: what becomes of a draw that does not fit the budget. "dropped" as in the paper; "projected" to its
            likeliest changes; "spent": projected and filled up to the whole budget; "exchanged": cut down to one change
            from the current row ("spent" in the first round). The last two score new rows, as long as there are any.
        leave: a row that is broken leaves before the next round; off only to measure cost.
    """

    randomised: ClassVar[bool] = True
    needs_gradient: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("penalty",)

    zetas: tuple[float, ...] = (1.5, 0.7, 3.0, 2.0)
    zeta_unit: Literal["budget", "feature"] = "budget"
    rounds: int = 40
    steps: int = 1
    samples: int = 1
    hard: bool = True
    tau: float = 2.0
    penalty: float = 2.0
    learning_rate: float = 1.0
    ascent: Literal["turns", "adam", "mirror", "steepest", "sign"] = "mirror"
    start: float | None = 0.1
    carry: bool = False
    recentre: float | None = 3.0
    patience: int = 5
    ceiling: float = 1e4
    draws: int = 20
    drawing: Literal["dropped", "projected", "spent", "exchanged"] = "exchanged"
    leave: bool = True

    @classmethod
    def paper(cls, **changes: Any) -> "PCAA":
        """The paper's form with the released numbers for Splice and IPS.

        The released code scores relaxed samples and keeps the last zeta's result only. Here discrete draws are scored,
        a draw over the budget is dropped, and a success at any zeta counts, as the text says. Algorithm 1's clip is
        corrected to (0, C].
        """
        zetas = tuple(round(0.13 + 0.01 * step, 2) for step in range(22))
        settings: dict[str, Any] = {
            "objective": "cross_entropy",
            "zetas": zetas,
            "zeta_unit": "feature",
            "rounds": len(zetas),
            "steps": 100,
            "samples": 500,
            "hard": False,
            "tau": 0.1,
            "penalty": 10.0,
            "learning_rate": 0.1,
            "ascent": "sign",
            "start": None,
            "carry": True,
            "recentre": None,
            "ceiling": 15.0,
            "draws": 100,
            "drawing": "dropped",
        }
        return cls(**(settings | changes))

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Runs Algorithm 1 and draws, round by round; any draw that meets the goal counts."""
        everyone = torch.arange(len(problem), device=best.slots.device)
        visited = Visited(problem.candidates.layout, len(problem))
        last = self._initial(problem.candidates)  # log pi that the next round starts from
        here, waited = problem.clean_slots, torch.zeros_like(problem.rows)  # current row; rounds without a new best
        for turn in range(self.rounds):
            rows = best.open_rows() if self.leave else everyone
            if len(rows) == 0:
                break
            stuck = waited[rows] >= self.patience
            waited[rows[stuck]] = 0
            centre = here[rows].masked_fill(stuck[:, None], 0)
            part, noise, before = problem.take(rows), random.select(rows), best.loss[rows]
            pi = self.algorithm_1(
                part,
                noise,
                self.zetas[turn % len(self.zetas)],
                mirror=self.mirrors(turn),
                initial=self._recentred(last[rows], centre, part.candidates),
                gradient_of=HardSamples(part, noise, self.samples, best, visited, rows) if self.hard else None,
            )
            if self.carry:
                last[rows] = pi.log_pi
            points = self._draw(pi, noise, part, visited, rows, here[rows] if turn else None)
            loss = try_points(problem, best, rows, points, (points != 0).sum(2) <= problem.budget)
            here[rows] = points[torch.arange(len(rows), device=rows.device), loss.argmax(1)]
            waited[rows] = torch.where(best.loss[rows] > before, 0, waited[rows] + 1)

    def search_passes(self, problem: Problem) -> Passes:
        """Exact if no row leaves early and no draw is dropped."""
        ascents = self.rounds * self.steps * self.samples
        draws = self.rounds * self.draws
        is_exact = self.drawing != "dropped" and not self.leave and not problem.candidates.computed_columns
        return Passes.of(problem, ascents + draws, ascents, is_exact=is_exact)

    def mirrors(self, turn: int) -> bool:
        """Whether this round uses mirror ascent."""
        return self.ascent == "mirror" or (self.ascent == "turns" and turn % 2 == 0)

    def distribution(
        self,
        victim: Victim,
        x: Ids,
        y: Labels,
        threat: ThreatModel,
        *,
        zeta: float | None = None,
        seed: int = 0,
    ) -> Distribution:
        """The output of Algorithm 1 for a batch of rows: pi after one round from the clean rows, with soft samples.

        Args:
            victim: borrowed.
            x: clean rows.
            y: true classes.
            threat: what the attacker may do.
            zeta: one value of the sweep, in units of `zeta_unit`; the first by default.
            seed: decides the noise of a row, together with the row's content.
        """
        schema = threat.space.schema
        schema.check_labels(y, len(x))
        self._check_victim(victim)
        x, y = x.to(victim.device), y.to(victim.device)
        with frozen_eval(victim):
            goals = AnyOther().of(y, schema)
            problem = Problem.of(victim, threat.space.candidates(x), goals, threat.budget, objective=self.objective)
            noise = RowRandom.for_rows(seed, x)
            return self.algorithm_1(problem, noise, self.zetas[0] if zeta is None else zeta, mirror=self.mirrors(0))

    def limit(self, problem: Problem, zeta: float) -> float | RowFloat:
        """The constraint's right-hand side: zeta times its unit. With prices, epsilon is what a row can change."""
        if problem.purse is not None and self.zeta_unit == "budget":
            return zeta * most_features(problem).clamp(min=1)
        return zeta * (problem.budget if self.zeta_unit == "budget" else problem.candidates.layout.features)

    def algorithm_1(
        self,
        problem: Problem,
        random: RowRandom,
        zeta: float,
        *,
        mirror: bool = False,
        initial: OptionFloat | None = None,
        penalty: float | Float[Tensor, ""] | None = None,
        gradient_of: Gradient | None = None,
    ) -> Distribution:
        """Algorithm 1 for one zeta.

        Args:
            problem: of these rows.
            random: one stream per row.
            zeta: the constraint's right-hand side, in units of `zeta_unit`.
            mirror: use mirror ascent.
            initial: log pi to start from; by default that of the settings.
            penalty: lambda in place of that of the settings. Mirror ascent has none.
            gradient_of: in place of the gradient at soft samples that mirror ascent takes.

        Cost: steps samples forward and backward passes per row.
        """
        start = Distribution(problem.candidates, self._initial(problem.candidates) if initial is None else initial)
        limit, steps, samples = self.limit(problem, zeta), self.steps, self.samples
        weights = None if problem.purse is None else change_weights(problem)
        if mirror:
            soft = partial(soft_gradient, problem, random, samples=samples, tau=self.tau / 2)
            return mirror_ascent(start, gradient_of or soft, limit, steps, self.learning_rate, weights)
        return penalty_ascent(
            problem,
            random,
            start,
            limit,
            steps,
            samples,
            self.tau,
            self.learning_rate,
            penalty=self.penalty if penalty is None else penalty,
            ceiling=self.ceiling,
            step=self.ascent if self.ascent in ("adam", "sign") else "steepest",
            weights=weights,
        )

    def _recentred(self, log_pi: OptionFloat, row: Slots, candidates: Candidates) -> OptionFloat:
        """Raises the changes of a row to the log-odds of `recentre`; the clean row has none."""
        if self.recentre is None:
            return log_pi
        present = candidates.layout.one_hot(row).bool() & candidates.moves
        return torch.where(present, log_pi.clamp(min=self.recentre), log_pi)

    def _draw(
        self,
        pi: Distribution,
        random: RowRandom,
        problem: Problem,
        visited: Visited,
        rows: Int64[Tensor, "some"],
        here: Slots | None,
    ) -> ManySlots:
        if self.drawing in ("dropped", "projected"):
            budget = None if self.drawing == "dropped" else problem.budget
            return pi.draw(random, self.draws, budget=budget, purse=problem.purse)
        around = here if self.drawing == "exchanged" else None
        return new_draws(pi, random, self.draws, problem.budget, visited, rows, here=around, purse=problem.purse)

    def _initial(self, candidates: Candidates) -> OptionFloat:
        """Log pi of line 1: the clean categories, nearly certain."""
        if self.start is not None:
            return initial_log_pi(candidates, self.start)
        clean = (candidates.layout.slot_of == 0).expand_as(candidates.ids)
        return torch.where(clean, self.ceiling, SMALLEST_PI).log()
