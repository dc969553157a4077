"""Randomized ablation: most votes never see a change of few features."""

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.certificates._search.clopper_pearson import lower_bound
from hammingbox.certificates.base import Certificate
from hammingbox.certificates.result import Claims
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.settings import MOST_ROWS
from hammingbox.threat.space import Space
from hammingbox.victims.ablated import Ablated
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, kw_only=True)
class Ablation(Certificate):
    """The certificate of `Ablated` classifiers (Levine and Feizi 2020).

    Of the C(n, k) subsets of k features, a change of r features reaches the share D(r) = 1 - C(n - r, k) / C(n, k).
    The share of votes of a class therefore moves by at most D(r).

    Guarantee: if all subsets are enumerated, a row is proven at r with certainty when the votes of the best losing
    class exceed those of every winning class by at least 2 D(r) (ties count for the victim). Otherwise, with
    probability of at least 1 - alpha over the subsets drawn for this row, p - D(r) > q + D(r) for every winning class,
    where p is a lower Clopper-Pearson bound on the share of the class that other subsets have chosen, q is an upper one
    on the share of the winning class, or 1 - p if that is less, and alpha is divided among the bounds. A row whose
    chosen class counts as success, or that has no such lead, abstains: it is not even proven at 0 changes, and counts
    as an error.

    The proof is about the vote over all subsets. `Ablated` answers with an estimate of it, so its own prediction and an
    attack on it may differ from what is certified for rows with a narrow vote.

    Cost: `choosing` + `samples` passes of the model per row, or C(n, k).

    Attributes:
        alpha: probability that a proof of a row does not hold.
        choosing: subsets that choose the class.
        samples: subsets that bound its share.
    """

    randomised: ClassVar[bool] = True
    needs_passes: ClassVar[bool] = True

    alpha: float = 0.001
    choosing: int = 200
    samples: int = 4000

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: alpha is not below 1/2, or there are too many samples.
        """
        super().__post_init__()
        if self.alpha >= 0.5:
            raise InputError(f"expected alpha below 0.5, got {self.alpha}.")
        if max(self.samples, self.choosing) > MOST_ROWS:
            raise InputError(f"expected at most {MOST_ROWS:,} samples, got {max(self.samples, self.choosing):,}.")

    @property
    def confidence(self) -> float:
        """1 - alpha; where all subsets are enumerated, proofs hold with certainty."""
        return 1.0 - self.alpha

    def applies_to(self, victim: Victim, space: Space) -> str | None:  # noqa: ARG002
        """Ablated classifiers only: about a model that sees whole rows, votes over parts of them prove nothing."""
        if isinstance(victim, Ablated):
            return None
        return (
            f"expected a classifier that votes over ablated rows for the certificate ablation, got {_kind(victim)}, "
            "which sees whole rows: votes over parts of a row prove nothing about it. Train it with the defence "
            "ablation and pass hb.Ablated(victim, k), or use exact, additive or relaxation."
        )

    def run(self, problem: Problem, random: RowRandom) -> Claims:
        """Votes, then the largest r that they allow."""
        victim = problem.victim
        assert isinstance(victim, Ablated)
        features = problem.candidates.layout.features
        reached = [1 - comb(features - r, victim.k) / comb(features, victim.k) for r in range(problem.budget + 1)]
        shares = torch.tensor(reached, dtype=torch.float64, device=problem.rows.device)
        every = victim.subsets(features)
        if every is not None:
            problem.meter.charge(problem.rows, len(every))
            counts = victim.counts(problem.candidates.clean, every)
            lead = _lead(problem, counts).double() / len(every)
            slack = lead[:, None] - 2 * shares  # at least 0: a tie counts for the victim
            radius = (slack[:, 1:] >= -1e-12).long().cumprod(1).sum(1)
            return Claims(radius, problem.clean_slots, -slack[:, -1], confidence=1.0)
        lead = torch.stack([self._sampled_lead(problem, row, random) for row in range(len(problem))])
        slack = lead[:, None] - 2 * shares
        radius = (slack > 0).long().cumprod(1).sum(1) - 1  # -1: it abstains
        return Claims(radius, problem.clean_slots, -slack[:, -1])

    def _sampled_lead(self, problem: Problem, row: int, random: RowRandom) -> Tensor:
        """A lower bound on the lead of the chosen class over the winning ones; -1 if it counts as success itself."""
        victim = problem.victim
        assert isinstance(victim, Ablated)
        ids = problem.candidates.clean[row : row + 1]
        seeds = random.streams[row].integers(2**62, size=2).tolist()
        problem.meter.charge(problem.rows[row : row + 1], self.choosing + self.samples)
        features = ids.shape[1]
        chosen = victim.counts(ids, victim.random_subsets(features, self.choosing, seeds[0]))[0].argmax()
        zero = torch.zeros((), dtype=torch.float64, device=ids.device)
        wins = problem.goal.wins[row]
        if bool(wins[chosen]):
            return zero - 1
        votes = victim.counts(ids, victim.random_subsets(features, self.samples, seeds[1]))[0]
        rivals = votes[wins].tolist()
        low = lower_bound(int(votes[chosen]), self.samples, self.alpha / 2)
        each = self.alpha / 2 / len(rivals)
        high = max(1 - lower_bound(self.samples - rival, self.samples, each) for rival in rivals)
        return zero + low - min(high, 1 - low)


def _lead(problem: Problem, counts: Int64[Tensor, "batch classes"]) -> Int64[Tensor, "batch"]:
    """Votes of the best losing class minus those of the best winning one."""
    wins = problem.goal.wins
    return counts.masked_fill(wins, -1).amax(1) - counts.masked_fill(~wins, 0).amax(1)


def _kind(victim: Victim) -> str:
    return f"a raw {type(victim).__name__}"
