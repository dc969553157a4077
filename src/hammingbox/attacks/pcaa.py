"""PCAA: the probabilistic categorical adversarial attack (Algorithm 1 of the paper)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.mirror_ascent import mirror_ascent
from hammingbox.attacks._search.penalty_ascent import SMALLEST_PI, penalty_ascent
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.distribution import Distribution, initial_log_pi
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, OptionFloat
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, kw_only=True)
class PCAA(Search):
    """Optimises one categorical distribution per feature by Gumbel-softmax gradients, then draws rows from it.

    Maximises E_{x'~pi} L(f(x'), y) - penalty [sum_i CE(x_i, pi_i) - zeta]+ (Eq. 3) for each zeta of a sweep, makes
    `draws` draws from the resulting pi, and keeps the best row within the budget. A row that is broken leaves before
    the next zeta.

    The defaults differ from the paper where measurements were in favour: the margin loss instead of a cross entropy
    that saturates, a warm temperature, steepest ascent on log pi, a start that depends on the number of categories, and
    draws projected to the budget instead of dropped. Every other zeta, beginning with the first, uses mirror ascent
    (`mirror_ascent`), for rows with thousands of options. `PCAA.paper()` has the paper's form and numbers.

    Cost: at most len(zetas) steps samples forward and backward passes per row, and 1 + len(zetas) draws forward passes:
    constant in n, d and epsilon.

    Attributes:
        zetas: the sweep of the constraint's right-hand side, in units of `zeta_unit`.
        zeta_unit: "budget" multiplies zetas by epsilon, "feature" by n (the released code averages over features).
        steps: I, gradient steps for each zeta.
        samples: n_g, Gumbel samples per step.
        tau: softmax temperature; mirror ascent uses tau / 2.
        penalty: lambda.
        learning_rate: gamma; in units of the initial log-odds, with "sign" in units of pi.
        ascent: mirror ascent and steepest ascent on log pi in turns, one of them alone, Adam on log pi, or the sign of
            the gradient on pi itself. In steepest ascent the largest entry of a row moves by the learning rate.
        start: changes expected under the first pi; the log-odds follow from it and the number of options. None starts
            from the paper's one-hot rows clipped into [1e-3, C].
        ceiling: C, the largest pi.
        draws: rows drawn for each zeta.
        project: keep a draw's likeliest changes within the budget instead of dropping the draw.
        leave: a row that is broken leaves before the next zeta; off only to measure cost.
    """

    randomised: ClassVar[bool] = True
    needs_gradient: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("penalty",)

    zetas: tuple[float, ...] = (1.5, 0.7, 3.0, 2.0)
    zeta_unit: Literal["budget", "feature"] = "budget"
    steps: int = 20
    samples: int = 3
    tau: float = 2.0
    penalty: float = 2.0
    learning_rate: float = 0.25
    ascent: Literal["turns", "adam", "mirror", "steepest", "sign"] = "turns"
    start: float | None = 1.0
    ceiling: float = 1e4
    draws: int = 100
    project: bool = True
    leave: bool = True

    @classmethod
    def paper(cls, **changes: Any) -> "PCAA":
        """The paper's form with the released numbers for Splice and IPS. Algorithm 1's clip is corrected to (0, C]."""
        settings: dict[str, Any] = {
            "objective": "cross_entropy",
            "zetas": (0.13, 0.2, 0.27, 0.34),
            "zeta_unit": "feature",
            "steps": 100,
            "samples": 500,
            "tau": 0.1,
            "penalty": 10.0,
            "learning_rate": 0.1,
            "ascent": "sign",
            "start": None,
            "ceiling": 15.0,
            "project": False,
        }
        return cls(**(settings | changes))

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Runs Algorithm 1 for each zeta; any draw that meets the goal counts."""
        everyone = torch.arange(len(problem), device=best.slots.device)
        for turn, zeta in enumerate(self.zetas):
            rows = best.open_rows() if self.leave else everyone
            if len(rows) == 0:
                break
            part, noise = problem.take(rows), random.select(rows)
            distribution = self.algorithm_1(part, noise, zeta, mirror=self.mirrors(turn))
            owner, slots = all_points(
                distribution.draw(noise, self.draws, budget=problem.budget if self.project else None)
            )
            within = (slots != 0).sum(1) <= problem.budget
            owner, slots = owner[within], slots[within]
            if len(owner):
                best.offer(rows[owner], slots, *part.score(owner, slots))

    def search_passes(self, problem: Problem) -> Passes:
        """Exact if no row leaves early and no draw is dropped."""
        ascents = len(self.zetas) * self.steps * self.samples
        draws = len(self.zetas) * self.draws
        return Passes.of(problem, ascents + draws, ascents, is_exact=self.project and not self.leave)

    def mirrors(self, turn: int) -> bool:
        """Whether this turn of the sweep uses mirror ascent."""
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
        """The output of Algorithm 1 for a batch of rows: pi after the last step.

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

    def limit(self, problem: Problem, zeta: float) -> float:
        """The constraint's right-hand side: zeta times its unit."""
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
    ) -> Distribution:
        """Algorithm 1 for one zeta.

        Args:
            problem: of these rows.
            random: one stream per row.
            zeta: the constraint's right-hand side, in units of `zeta_unit`.
            mirror: use mirror ascent.
            initial: log pi to start from; by default that of the settings.
            penalty: lambda in place of that of the settings. Mirror ascent has none.

        Cost: steps samples forward and backward passes per row.
        """
        start = Distribution(problem.candidates, self._initial(problem.candidates) if initial is None else initial)
        limit, steps, samples = self.limit(problem, zeta), self.steps, self.samples
        if mirror:
            return mirror_ascent(problem, random, start, limit, steps, samples, self.tau / 2, self.learning_rate)
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
        )

    def _initial(self, candidates: Candidates) -> OptionFloat:
        """Log pi of line 1: the clean categories, nearly certain."""
        if self.start is not None:
            return initial_log_pi(candidates, self.start)
        clean = (candidates.layout.slot_of == 0).expand_as(candidates.ids)
        return torch.where(clean, self.ceiling, SMALLEST_PI).log()
