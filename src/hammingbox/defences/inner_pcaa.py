"""The inner maximisation of Algorithm 2: a short PCAA for every row of a batch, with its penalty and its memory."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from hammingbox.attacks.distribution import Distribution, initial_log_pi
from hammingbox.attacks.pcaa import PCAA
from hammingbox.defences.base import Batch, Defence
from hammingbox.defences.warm_start import WarmStart
from hammingbox.errors import InputError
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import ManySlots, RowFloat
from hammingbox.victims.victim import Victim


@dataclass(eq=False, kw_only=True)
class InnerPCAA(Defence):
    """Finds an adversarial distribution for each row and draws rows from it.

    Draws are discrete rows projected to the budget (`PAdvT.paper` has the paper's relaxed rows at any distance). The
    penalty coefficient follows line 9 of Algorithm 2 and is a buffer.

    Cost per row: `steps` x `samples` forward and backward passes and, if there are more draws than `n_adv`, `draws`
    forward passes.

    Attributes:
        zeta: right-hand side of the constraint, in units of `zeta_unit`.
        zeta_unit: "budget" multiplies zeta by epsilon, "feature" by n.
        steps: gradient steps on pi.
        samples: n_g, Gumbel samples per step.
        tau: softmax temperature; mirror ascent uses tau/2.
        ascent: mirror ascent, which meets the constraint exactly, so that lambda can only fall; or steepest ascent on
            log pi with the paper's penalty; or the sign of the gradient on pi itself with the penalty, as released.
        learning_rate: of the ascent, in units of the initial log-odds; with "sign" in units of pi.
        start: expected number of changes under the initial pi.
        n_adv: adversarial rows per clean row in the training step.
        draws: rows drawn from pi, with the mode of pi among them; the `n_adv` with the largest loss are trained on.
        penalty: lambda at the start.
        penalty_step: alpha, its step size.
        warm: changes per row that are remembered for the next epoch; 0 always starts from the clean row.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("penalty", "penalty_step", "warm")

    zeta: float = 1.5
    zeta_unit: Literal["budget", "feature"] = "budget"
    steps: int = 5
    samples: int = 1
    tau: float = 2.0
    ascent: Literal["mirror", "steepest", "sign"] = "mirror"
    learning_rate: float = 0.5
    start: float = 0.1
    n_adv: int = 1
    draws: int = 8
    penalty: float = 0.5
    penalty_step: float = 0.005
    warm: int = 0

    def __post_init__(self) -> None:
        """Checks the settings and registers lambda as a buffer.

        Raises:
            InputError: a setting does not fit, or there are fewer draws than rows to train on.
        """
        super().__post_init__()
        if self.draws < self.n_adv:
            raise InputError(
                f"expected at least as many draws as n_adv, got draws={self.draws} and n_adv={self.n_adv}."
            )
        self.register_buffer("adapted_penalty", torch.tensor(float(self.penalty), device="cpu"))
        self.memory: WarmStart | None = None
        self._seen: tuple[Batch, dict[str, Tensor]] | None = None
        # Built once: the lambda of a step is an argument of `algorithm_1`.
        self.attack = PCAA(
            zetas=(self.zeta,), zeta_unit=self.zeta_unit, steps=self.steps, samples=self.samples, tau=self.tau,
            ascent=self.ascent, learning_rate=self.learning_rate, start=self.start, penalty=self.penalty,
        )  # fmt: skip

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:
        """Also resets lambda and the memory of the last distributions."""
        super().begin(victim, rows, threat)
        self.get_buffer("adapted_penalty").fill_(self.penalty)
        self.memory = WarmStart(rows, self.warm, victim.device) if self.warm else None

    def distribution(self, problem: Problem, batch: Batch, random: RowRandom) -> Distribution:
        """Line 5: the adversarial distribution of each row. `learn` is to be called after it."""
        initial = initial_log_pi(problem.candidates, self.start)
        if self.memory is not None:
            initial = self.memory.recall(batch.rows, initial)
        distribution = self.attack.algorithm_1(  # line 5
            problem,
            random,
            self.zeta,
            mirror=self.attack.mirrors(0),
            initial=initial,
            penalty=self.get_buffer("adapted_penalty"),
        )
        limit = self.attack.limit(problem, self.zeta)
        seen = {"cross_entropy": distribution.cross_entropy}
        seen["limit"] = limit if isinstance(limit, Tensor) else torch.full_like(seen["cross_entropy"], limit)
        if self.memory is not None:
            seen |= self.memory.most_likely(distribution) | {"rows": batch.rows}
        self._seen = batch, seen
        return distribution

    def learn(self, batch: Batch) -> None:
        """Line 9, and the memory: what a step teaches, from all its rows, whichever process attacked them."""
        part, seen = self._seen or (batch.take(slice(0)), {})
        self._seen = None
        if not (seen := part.gathered(seen)):
            return
        if self.memory is not None:
            self.memory.remember(seen["rows"], seen["options"], seen["log_odds"])
        self._adapt(seen["limit"], seen["cross_entropy"])

    def points(self, problem: Problem, distribution: Distribution, random: RowRandom) -> ManySlots:
        """Line 6: the `n_adv` points with the largest loss among the draws, within the budget."""
        budget, purse = problem.budget, problem.purse
        if self.draws == self.n_adv:  # line 6 as in the paper
            return _payable(problem, distribution.draw(random, self.n_adv, budget=budget, purse=purse))
        drawn = distribution.draw(random, self.draws - 1, budget=budget, purse=purse)
        points = torch.cat([distribution.mode(budget, purse)[:, None], drawn], 1)
        owner, slots = all_points(points)
        worst = problem.score(owner, slots).loss.view(len(problem), self.draws).topk(self.n_adv).indices
        return _payable(problem, points.gather(1, worst[:, :, None].expand(-1, -1, points.shape[2])))

    def _adapt(self, limit: RowFloat, cross_entropy: RowFloat) -> None:
        """Line 9: lambda <- (lambda - alpha (zeta - mean_i sum_j CE(x_ij, pi_ij)))+."""
        penalty: Tensor = self.get_buffer("adapted_penalty")
        most = limit.double().mean().to(limit.dtype)  # of equal limits exactly their value
        penalty.sub_(self.penalty_step * (most - cross_entropy.mean())).clamp_(min=0.0)


def _payable(problem: Problem, points: ManySlots) -> ManySlots:
    """The clean row in place of points that cannot be written, such as a total without a value of its own."""
    if problem.purse is None:
        return points
    able = problem.affordable(*all_points(points)).view(points.shape[:2])
    return torch.where(able[..., None], points, 0)
