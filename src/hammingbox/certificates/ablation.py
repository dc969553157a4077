"""Ablation: most votes never see a change of few features."""

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import torch
from torch import Tensor

from hammingbox.certificates._search.clopper_pearson import lower_bound
from hammingbox.certificates._search.touched_votes import most_touched
from hammingbox.certificates.base import Certificate
from hammingbox.certificates.result import Claims
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.settings import MOST_ROWS
from hammingbox.threat.space import Space
from hammingbox.victims.ablated import Ablated, Kept
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, kw_only=True)
class Ablation(Certificate):
    """The certificate of `Ablated` classifiers (Levine and Feizi 2020, without their randomness).

    The subsets that vote are known, and the same for every row. A change of the features R reaches only the votes of
    subsets that hold one of R. Such a vote for the losing class j may turn into one for the winning class k, which
    costs j a lead of 2; one for a third class costs 1; one for k costs nothing.

    Guarantee: a row is proven at r, with certainty and about the very answers of the classifier, when for every winning
    class k the votes of some losing class j exceed those of k by at least the largest such cost of any r features that
    may change (ties count for the victim). That cost is exact at r = 1 and 2 and an upper bound beyond. A row that is
    not proven is unknown.

    With `samples`, the subsets that `Ablated` votes with are left aside, and the vote over *all* C(n, k) subsets is
    certified as in the literature: with probability of at least 1 - alpha over the subsets drawn for this row,
    p - D(r) > q + D(r) for every winning class, where D(r) = 1 - C(n - r, k) / C(n, k) is the share of subsets that r
    changes reach, p is a lower Clopper-Pearson bound on the share of the class that other subsets have chosen, q is an
    upper one on the share of the winning class, or 1 - p if that is less, and alpha is divided among the bounds. A row
    whose chosen class counts as success, or that has no such lead, abstains: it is not even proven at 0 changes, and
    counts as an error. Nobody can cast all votes, so the answers of `Ablated` are an estimate of that classifier: an
    attack on them may break a row with a narrow vote that is proven in this sense.

    Cost: the votes of one answer per row; with `samples`, `choosing` + `samples` passes of the model.

    Attributes:
        alpha: with samples, the probability that a proof of a row does not hold.
        choosing: with samples, subsets that choose the class.
        samples: subsets that bound the share of a class among all subsets; 0 certifies the answers themselves.
    """

    randomised: ClassVar[bool] = True
    needs_passes: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("samples",)

    alpha: float = 0.001
    choosing: int = 200
    samples: int = 0

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
        """1, or 1 - alpha with samples."""
        return 1.0 - self.alpha if self.samples else 1.0

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
        if not self.samples or victim.subsets(features) is not None:  # all votes are cast, or these are the question
            return _answers(problem, victim, victim.design(features))
        reached = [1 - comb(features - r, victim.k) / comb(features, victim.k) for r in range(problem.budget + 1)]
        shares = torch.tensor(reached, dtype=torch.float64, device=problem.rows.device)
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


def _answers(problem: Problem, victim: Ablated, kept: Kept) -> Claims:
    """What holds about the votes of known subsets, with certainty."""
    worst = torch.empty(len(problem), problem.budget, dtype=torch.float64, device=problem.rows.device)
    may_change = problem.candidates.counts > 1
    for row in range(len(problem)):
        problem.meter.charge(problem.rows[row : row + 1], len(kept))
        votes = victim.cast(problem.candidates.clean[row : row + 1], kept)[0][0]
        subsets = kept[:, may_change[row]].double()
        wins = problem.goal.wins[row]
        # A winning class must be above all losing ones: the most stubborn of these counts.
        bounds = [
            torch.stack([_margin(votes, subsets, k, j, problem.budget) for j in (~wins).nonzero()[:, 0].tolist()]).amin(
                0
            )
            for k in wins.nonzero()[:, 0].tolist()
        ]
        worst[row] = torch.stack(bounds).amax(0)
    radius = (worst <= 0).long().cumprod(1).sum(1)  # 0: a tie counts for the victim
    return Claims(radius, problem.clean_slots, worst[:, -1], confidence=1.0)


def _margin(votes: Tensor, subsets: Tensor, winner: int, loser: int, budget: int) -> Tensor:
    """The most votes that a winning class can have above a losing one within 1, 2, ... changes."""
    cost = (votes == loser).double() + (votes != winner).double()
    return (votes == winner).sum() - (votes == loser).sum() + most_touched(subsets, cost, budget)


def _kind(victim: Victim) -> str:
    return f"a raw {type(victim).__name__}"
