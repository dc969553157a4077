"""What every certificate has in common: its settings, where it applies, and the call that checks what it claims.

An attack shows that a row can be broken; a certificate shows that it cannot. The truth lies between the two:
certified <= true <= attacked, row by row. What "broken" means is decided by `RowGoals.margin` alone: any winning class
strictly above every other one; an exact tie counts for the victim.

A method computes with the victim's weights, not with its answers, so rounding could separate the two. Methods
therefore compute in float64 and call a row proven only if its worst margin is below minus a tolerance (`rounding`), and
a row is broken only if the victim itself answers the witness as the attacker wants.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar, final

import torch
from torch import Tensor

from hammingbox.certificates.result import CertificateResult, Claims
from hammingbox.errors import CertificateError, InputError
from hammingbox.problem import DEFAULT_MEMORY, Problem
from hammingbox.seeding import RowRandom
from hammingbox.settings import check_settings
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import AnyOther, Goal, RowGoals
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, RowInt, Slots
from hammingbox.victims.frozen import frozen_eval, unchanged
from hammingbox.victims.victim import Victim, float_type_of

__all__ = ["Certificate", "CertificateResult", "Claims", "rounding", "too_coarse"]

_RELATIVE_ROUNDING = 2e-6
"""What float32 sums may be off by, relative to the sum of the magnitudes of their terms (about 16 units in the last
place: a victim adds the same numbers in an order of its own)."""


def too_coarse(victim: Victim) -> str | None:
    """Why bounds say nothing about a victim of half precision, whose answers are rounded far more than `rounding`."""
    kind = float_type_of(victim)
    if torch.finfo(kind).eps <= torch.finfo(torch.float32).eps:
        return None
    return (
        f"expected a model in float32 or float64 for bounds on its logits, got one in {kind}. "
        "Call .float() on it, or use exact, which asks the model itself."
    )


def rounding(magnitude: Tensor) -> Tensor:
    """The tolerance of a proof about a victim that computes in float32 or float64.

    Args:
        magnitude: an upper bound on the sum of the absolute values of all terms that enter a logit.
    """
    return _RELATIVE_ROUNDING * magnitude.clamp(min=1.0)


@dataclass(frozen=True, kw_only=True)
class Certificate(ABC):
    """A frozen bag of settings; `repr` rebuilds it and goes into the record.

    A method of your own implements `applies_to` and `run`. The docstring of each method states its guarantee.

    Attributes:
        exact: (class) without a limit, it leaves no row unknown: it either proves or breaks a row.
        needs_passes: (class) it asks the victim about many points, so cheaper methods come first.
        randomised: (class) what it proves depends on the seed.
        keeps_rules: (class) it also certifies spaces with prices and relations; the radius is then an amount.
        batch_size: (class) rows that are certified together unless the user says otherwise.
    """

    exact: ClassVar[bool] = False
    needs_passes: ClassVar[bool] = False
    randomised: ClassVar[bool] = False
    keeps_rules: ClassVar[bool] = False
    batch_size: ClassVar[int] = 256

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a setting of the wrong type, a string outside the allowed choices, or a number out of range.
        """
        check_settings(self)

    @property
    def confidence(self) -> float:
        """The probability that a proof holds, over the method's own randomness."""
        return 1.0

    @abstractmethod
    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """Why this method cannot certify a victim: "expected X, got Y." and the remedy; None if it can."""

    def chosen_for(self, victim: Victim, space: Space) -> "Certificate":
        """The method that certifies this victim: itself, but for methods that choose among others.

        Raises:
            InputError: there is none.
        """
        reason = self.applies_to(victim, space)
        if reason is not None:
            raise InputError(reason)
        return self

    @abstractmethod
    def run(self, problem: Problem, random: RowRandom) -> Claims:
        """Decides rows whose clean prediction does not meet the goal, at a budget of at least 1.

        The victim of the problem is in eval mode and must not be changed. Passes that go through the problem are
        counted. A limit of nodes, passes or time leaves a row with the radius that is proven by then.
        """

    @final
    def certify(
        self,
        victim: Victim,
        candidates: Candidates,
        goals: RowGoals,
        budget: int,
        *,
        seed: int = 0,
        memory: int = DEFAULT_MEMORY,
    ) -> CertificateResult:
        """Certifies a batch of rows, and checks the claims of the method.

        Args:
            victim: borrowed; given back in the mode it came in. `chosen_for` has accepted it.
            candidates: S(x) of each row.
            goals: what counts as success for each row. A row without a winning class, or without
                a change, is proven at once.
            budget: the largest number of changes, or of ticks where changes have prices.
            seed: with a row's content, decides that row's randomness.
            memory: bytes for a micro-batch.

        Raises:
            InputError: the space has prices or relations, and the method does not know them.
            CertificateError: the method returned something impossible, or proved a row that its own witness breaks.
            VictimError: the victim does not return finite logits.
        """
        if candidates.tolls is not None and not self.keeps_rules:
            raise InputError(
                f"expected a space without prices and relations for {self!r}, got one with some: it counts changes. "
                "Use exact, which tries every row that can be paid for."
            )
        with frozen_eval(victim), unchanged(victim):
            begin = perf_counter()
            problem = Problem.of(victim, candidates, goals, budget, memory=memory)
            clean_margin = goals.margin(problem.answers_to_clean()).double()
            met = clean_margin > 0
            searched = ~met & goals.possible & candidates.changeable & (problem.budget > 0)
            radius = torch.where(met, -1, torch.full_like(problem.rows, budget))
            witness, bound = problem.clean_slots, clean_margin.clone()
            seconds, confidence = torch.zeros_like(bound), self.confidence
            rows = searched.nonzero()[:, 0]
            if len(rows):
                part = problem.take(rows)
                random = RowRandom.for_rows(seed, part.candidates.clean)
                claims = self.run(part, random)
                if part.purse is not None:  # a row that can spend less than the budget holds at the whole budget
                    claims = claims._replace(radius=claims.radius.clamp(max=budget))
                claims = _checked(self, claims, part, budget)
                radius[rows], witness[rows], bound[rows] = claims.radius, claims.witness, claims.bound.double()
                confidence = confidence if claims.confidence is None else claims.confidence
                if claims.seconds is not None:
                    seconds[rows] = claims.seconds.double()
            broken = met | self._really_broken(problem, witness)
            if not bool(seconds.any()):  # the method did not time its rows
                seconds += (perf_counter() - begin) / max(1, len(problem))
        witness = torch.where(broken[:, None], witness, 0)
        distance, cost = _spent(problem, witness)
        if bool((broken & (radius >= cost)).any()):
            raise CertificateError(
                f"expected {self!r} to prove only rows that hold, got one whose own witness breaks it. "
                "The method does not describe this victim: do not use its results."
            )
        return CertificateResult(
            budget=budget,
            radius=radius,
            broken=broken,
            witness=witness,
            ids=candidates.select(witness),
            bound=bound,
            confidence=torch.full_like(bound, confidence),
            forward=problem.meter.forward.clone(),
            seconds=seconds,
            distance=distance,
            cost=cost,
        )

    @final
    def __call__(
        self,
        victim: Victim,
        x: Ids,
        y: Labels,
        threat: ThreatModel,
        *,
        goal: Goal | None = None,
        seed: int = 0,
        memory: int = DEFAULT_MEMORY,
    ) -> CertificateResult:
        """Certifies rows under a threat.

        Args:
            victim: borrowed; given back in the mode it came in.
            x: clean rows, shape (batch, features).
            y: true classes, shape (batch,).
            threat: what the attacker may do.
            goal: what counts as success; any class but the true one by default.
            seed: with a row's content, decides that row's randomness.
            memory: bytes for a micro-batch.

        Raises:
            InputError: the method does not apply to the victim, or rows or labels do not fit the schema.
            VictimError: the victim does not return finite logits.
        """
        schema = threat.space.schema
        method = self.chosen_for(victim, threat.space)
        x = schema.as_ids(x).to(victim.device)
        y = schema.as_labels(y, len(x)).to(victim.device)
        if len(x) == 0:
            raise InputError("expected at least one row to certify, got none.")
        goals = (goal or AnyOther()).of(y, schema)
        return method.certify(victim, threat.space.slots_of(x), goals, threat.budget, seed=seed, memory=memory)

    @staticmethod
    def _really_broken(problem: Problem, witness: Tensor) -> Tensor:
        """Rows whose witness the victim itself answers as the attacker wants. Cost: one pass per witness."""
        broken = torch.zeros_like(problem.rows, dtype=torch.bool)
        rows = (witness != 0).any(1).nonzero()[:, 0]
        if len(rows):
            broken[rows] = problem.goal.take(rows).margin(problem.logits(rows, witness[rows])) > 0
        return broken


def _checked(method: Certificate, claims: Claims, problem: Problem, budget: int) -> Claims:
    """Claims of the right shape, with radii and witnesses within the budget, which counts changes or ticks.

    Raises:
        CertificateError: they are not.
    """
    like = problem.clean_slots
    radius, witness, bound = claims[:3]
    if radius.shape != problem.rows.shape or witness.shape != like.shape or bound.shape != problem.rows.shape:
        raise CertificateError(f"expected claims about {len(problem)} rows from {method!r}, got other shapes.")
    if bool((radius < -1).any()) or bool((radius > budget).any()):
        raise CertificateError(f"expected radii of -1 to {budget} from {method!r}, got others.")
    rows = torch.arange(len(problem), device=radius.device)
    inside = problem.candidates.allows(witness) & problem.affordable(rows, witness)
    if not bool(inside.all()):
        raise CertificateError(f"expected witnesses in S(x) and within the budget from {method!r}, got one outside.")
    return claims


def _spent(problem: Problem, slots: Slots) -> tuple[RowInt, RowInt]:
    """Changed columns of one point per row, and what it takes from the budget: the same, or ticks."""
    if problem.candidates.tolls is None:
        changes = (slots != 0).sum(1)
        return changes, changes
    changes, ticks = problem.spent(torch.arange(len(problem), device=slots.device), slots).unbind(1)
    return changes, ticks if problem.candidates.priced else changes
