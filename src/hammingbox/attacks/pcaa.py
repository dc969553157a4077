"""PCAA: the probabilistic categorical adversarial attack (Algorithm 1 of the paper)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch

from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.attacks._search.mirror_ascent import mirror_ascent
from hammingbox.attacks.distribution import Distribution
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
    """Optimises one categorical distribution a feature by Gumbel-softmax gradients, then draws rows from it.

    Maximises E_{x'~pi} L(f(x'), y) - penalty [sum_i CE(x_i, pi_i) - zeta]+ (Eq. 3) for each zeta of a sweep, makes
    `draws` draws from the pi it ends with, and keeps the best row within the budget. Rows that fall leave before
    the next zeta.

    The defaults depart from the paper where measurement said so: the margin loss instead of a cross entropy that
    saturates, a warm temperature, Adam on log pi, a start that grows with the number of categories, and draws
    projected to the budget instead of thrown away. Every other zeta is served by mirror ascent (`mirror_ascent`), for
    rows with thousands of options: there Adam's steps, of one size for all, lift too many at once. `PCAA.paper()` has
    the paper's own form and numbers.

    Cost: len(zetas) steps samples forward and backward passes, and 1 + len(zetas) draws forward passes:
    constant in n, d and epsilon.

    Attributes:
        zetas: the sweep of the constraint's right-hand side, in units of `zeta_unit`.
        zeta_unit: "budget" multiplies zetas by epsilon, "feature" by n (the released code averages over features).
        steps: I, gradient steps for each zeta.
        samples: n_g, Gumbel samples a step.
        tau: softmax temperature, of mirror ascent half of it.
        penalty: lambda.
        learning_rate: gamma; in units of the start's log-odds, for the sign in units of pi.
        ascent: mirror ascent and Adam on log pi in turns, one of them alone, steepest ascent on log pi (a row's largest
            entry moves by the learning rate), or the sign of the gradient on pi itself.
        start: changes expected under the first pi; log-odds follow from it and the number of options. None starts
            from the paper's one-hot rows clipped into [1e-3, C].
        ceiling: C, the largest pi.
        draws: rows drawn for each zeta.
        project: keep a draw's likeliest changes within the budget instead of dropping the draw.
        leave: rows that fall leave before the next zeta; off only to measure cost.
    """

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
        """The paper's form and the released numbers for Splice and IPS, with Algorithm 1's clip corrected to (0, C]."""
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
        """Sweeps zeta; any verified success counts."""
        everyone = torch.arange(len(problem), device=best.slots.device)
        for turn, zeta in enumerate(self.zetas):
            rows = best.standing() if self.leave else everyone
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

    def mirrors(self, turn: int) -> bool:
        """Whether this round of the sweep is mirror ascent's."""
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
        """Algorithm 1's output for a batch of rows: pi after the last step.

        Args:
            victim: borrowed.
            x: clean rows.
            y: true classes.
            threat: what the attacker may do.
            zeta: one value of the sweep, in units of `zeta_unit`; the first by default.
            seed: with a row's content, decides that row's noise.
        """
        schema = threat.space.schema
        schema.check_labels(y, len(x))
        self._check_victim(victim)
        with frozen_eval(victim):
            goals = AnyOther().of(y, schema)
            problem = Problem.of(victim, threat.space.candidates(x), goals, threat.budget, objective=self.objective)
            noise = RowRandom.for_rows(seed, x)
            return self.algorithm_1(problem, noise, self.zetas[0] if zeta is None else zeta, mirror=self.mirrors(0))

    def limit(self, problem: Problem, zeta: float) -> float:
        """The constraint's right-hand side: zeta in its unit."""
        return zeta * (problem.budget if self.zeta_unit == "budget" else problem.candidates.layout.features)

    def algorithm_1(
        self,
        problem: Problem,
        random: RowRandom,
        zeta: float,
        *,
        mirror: bool = False,
        initial: OptionFloat | None = None,
    ) -> Distribution:
        """Algorithm 1 for one zeta, from a given log pi or its own. Cost: steps samples passes a row, both ways."""
        candidates, layout = problem.candidates, problem.candidates.layout
        limit = self.limit(problem, zeta)
        if initial is None:
            initial = self._initial(candidates)  # line 1
        if mirror:
            start = Distribution(candidates, initial)
            return mirror_ascent(
                problem, random, start, limit, self.steps, self.samples, self.tau / 2, self.learning_rate
            )
        # Adam's steps have one size for all; measured in the log-odds of the start, they cross it in as many steps
        # whether a row has a hundred options or twenty thousand.
        unit = 1.0 if self.ascent == "sign" else -initial.amin(1, keepdim=True).clamp(max=-1.0)
        scaled = (initial / unit).requires_grad_()
        optimiser = torch.optim.Adam([scaled], lr=self.learning_rate, maximize=True)
        at_once = max(1, problem.soft_rows_at_once // len(problem))
        for _ in range(self.steps):  # line 2
            optimiser.zero_grad()
            for done in range(0, self.samples, at_once):  # line 3: Eq. 5, in micro-batches of samples
                noise = random.gumbel(min(at_once, self.samples - done), layout.options)
                soft = Distribution(candidates, scaled * unit).soft_samples(noise, self.tau)
                (problem.soft_loss(soft).sum() / self.samples).backward()
            excess = (Distribution(candidates, scaled * unit).cross_entropy - limit).relu()
            (-self.penalty * excess).sum().backward()
            with torch.no_grad():
                assert scaled.grad is not None
                if self.ascent == "sign":
                    # The paper's pi itself: d/dpi has the sign of d/dlog pi, the step is taken on pi.
                    pi = scaled.exp() + self.learning_rate * scaled.grad.sign()
                    scaled.copy_(pi.clamp(1e-3, self.ceiling).log())
                    continue
                if self.ascent == "adam":  # line 4
                    optimiser.step()
                else:
                    largest = scaled.grad.abs().amax(1, keepdim=True).clamp_min(torch.finfo(scaled.dtype).tiny)
                    scaled.add_(self.learning_rate * scaled.grad / largest)
                scaled.copy_(torch.minimum(scaled, self._log_ceiling / torch.as_tensor(unit)))  # line 5, printed as max
        return Distribution(candidates, scaled.detach() * unit)

    @property
    def _log_ceiling(self) -> float:
        return torch.tensor(self.ceiling).log().item()

    def _initial(self, candidates: Candidates) -> OptionFloat:
        """Pi of line 1: the clean categories, nearly certain."""
        if self.start is not None:
            return initial_log_pi(candidates, self.start)
        clean = (candidates.layout.slot_of == 0).expand_as(candidates.ids)
        return torch.where(clean, self.ceiling, 1e-3).log()


def initial_log_pi(candidates: Candidates, changes: float) -> OptionFloat:
    """Log pi under which about so many changes are expected, however many options there are."""
    clean = (candidates.layout.slot_of == 0).expand_as(candidates.ids)
    # n (d - 1) exp(-log-odds) changes are expected, as long as that is well below n.
    log_odds = (candidates.moves.sum(1, keepdim=True).clamp(min=1) / changes).log()
    return torch.where(clean, 0.0, -log_odds)
