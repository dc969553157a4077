"""Claims about rows, from a file or a store, recomputed from the data and the victim: nothing of the run is trusted.

What is recomputed: that each clean row and label is the one the data has under its number, and that no row is there
twice; the victim's answers to the clean and to the adversarial rows, and from them which rows were right, were attacked
and are broken; that adversarial rows lie in S(x) within the budget, with the recorded distance and margin; the rates of
a summary with their denominators; and the passes, where the attack's formula gives them exactly or bounds them.

What cannot be noticed this way, and only by checksums (`hammingbox.running.store.seals`, the header's own hash): rows
that are missing altogether, a weaker adversarial row of S(x) in place of the one that was found, another budget, space
or goal that all rows fit as well, and cheaper or dearer runs of an attack without a formula. Whoever recomputes the
checksums too can make these changes unnoticed; not a broken row that is none, a row that the data does not have, or an
unbroken row that the victim gets wrong.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from hammingbox.attacks import Attack, Auto, Exhaustive
from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.attacks._search.search import Search
from hammingbox.certificates.base import Certificate
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import HammingboxError
from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.verify_proofs import refuted
from hammingbox.evaluation.verify_summary import disagreements
from hammingbox.problem import Problem
from hammingbox.threat.goal import Goal, RowGoals
from hammingbox.threat.space import Space
from hammingbox.types import Ids, Labels, Logits, RowFloat, RowInt, RowMask
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, ask

TIE = 1e-4
"""Logits of one row differ by this much at most between batch sizes, relative to its largest one above 1."""

ELSEWHERE = 1e-2
"""The same between machines or versions of torch."""


@dataclass(frozen=True, eq=False)
class Claims:
    """What was written down about the rows of one run.

    Attributes:
        victim_sha256: hash of the victim that was attacked.
        space: S(x).
        goal: what counted as success.
        budget: changed features at most.
        numbers: number of each row in its source.
        labels: true classes.
        clean: rows before.
        adversarial: rows after.
        correct: rows claimed as right before.
        success: rows claimed as broken.
        proven: rows claimed as unbreakable within the budget.
        distance: changed features as recorded.
        margin: as recorded.
        forward: forward passes as recorded.
        backward: backward passes as recorded.
        attacked: rows claimed as attacked; None where it is not written down.
        clean_logits: answers before as recorded; None where they are not written down.
        logits: answers after as recorded; None where they are not written down.
        attack: the attack of the package, for its formula; None for an attack of a user's own.
        certificate: the certificate of the package, if one made the claims: it proves them again.
        seed: of the certificate.
        exact_passes: whether an exact formula must hold, because the same version of the package made the claims.
        bounded_passes: whether a bound must hold, because the same revision of the package made the claims.
        said: what a summary says of the rows; None where there is none.
        data_sha256: hash of the rows that were attacked; empty where it is not written down.
        tolerance: by how much answers may differ, see `TIE`.
    """

    victim_sha256: str
    space: Space
    goal: Goal
    budget: int
    numbers: RowInt
    labels: Labels
    clean: Ids
    adversarial: Ids
    correct: RowMask
    success: RowMask
    proven: RowMask
    distance: RowInt
    margin: RowFloat
    forward: RowInt
    backward: RowInt
    attacked: RowMask | None = None
    clean_logits: Logits | None = None
    logits: Logits | None = None
    attack: Attack | None = None
    certificate: Certificate | None = None
    seed: int = 0
    exact_passes: bool = False
    bounded_passes: bool = False
    said: Mapping[str, Any] | None = None
    data_sha256: str = ""
    tolerance: float = TIE

    @property
    def schema(self) -> Schema:
        """What the ids mean."""
        return self.space.schema


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
        rows: rows that were looked at.
        claimed: rows claimed as broken.
        confirmed: of those, rows that are inside S(x), within the budget, right before and meet the goal after.
        ties: of those, rows whose margin is 0 up to floating-point noise between batch sizes.
        problems: one sentence for everything that did not hold.
        missing: one sentence for everything that could not be compared.
        notes: what else a reader should know.
    """

    rows: int
    claimed: int
    confirmed: int
    ties: int
    problems: tuple[str, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: "Verification") -> "Verification":
        """What was found about rows and about other rows of the same run; what is about the run is said once."""
        return Verification(
            self.rows + other.rows,
            self.claimed + other.claimed,
            self.confirmed + other.confirmed,
            self.ties + other.ties,
            *(
                tuple(dict.fromkeys([*getattr(self, name), *getattr(other, name)]))
                if getattr(other, name)
                else getattr(self, name)
                for name in ("problems", "missing", "notes")
            ),
        )

    @property
    def ok(self) -> bool:
        """Everything was compared, and nothing was rejected."""
        return not self.problems and not self.missing

    @property
    def verdict(self) -> str:
        """In words: verified, rejected, or could not compare."""
        return "rejected" if self.problems else "could not compare" if self.missing else "verified"


def verify_claims(claims: Claims, victim: Victim | None, *, data: Dataset | None = None) -> Verification:
    """Recomputes what was claimed about every row, see this module.

    Args:
        claims: what was written down.
        victim: the model that was attacked; its weights must have the recorded hash. Without it, its answers cannot be
            compared.
        data: clean rows and labels are compared with it; without it, they cannot be compared.
    """
    problems, features = _repeats(claims), len(claims.schema.features)
    if claims.space.unit is None and claims.budget > features:  # no run can have had it
        problems.append(f"expected a budget of at most {features} changed features, got {claims.budget}")
        claims = replace(claims, budget=features)
    missing = []
    if data is None:
        missing.append("the data: rows and labels were not compared with it")
    else:
        problems += _compare_with_data(claims, data)
    rows = _Findings(claims)
    inside, changeable = _by_the_space(claims)
    distance = claims.space.distance(claims.clean, claims.adversarial)
    affordable = claims.space.affords(claims.clean, claims.adversarial, claims.budget)
    goals = claims.goal.of(claims.labels, claims.schema)
    tried = claims.correct & goals.possible
    attacked, fixed = tried & changeable, tried & ~changeable
    if claims.said is not None:
        problems += disagreements(claims.said, _totals(claims, attacked))
    rows.add("outside S(x)", ~inside)
    rows.add(_above_budget(claims), ~affordable)
    rows.add("another distance than recorded", distance != claims.distance)
    if claims.attacked is not None:
        rows.add("recorded as attacked but was not, or the other way round", claims.attacked != attacked)
    rows.add("claimed as broken but was not attacked", claims.success & ~attacked)
    rows.add("changed but was not attacked", ~attacked & (distance > 0))
    rows.add("has passes but was not attacked", ~attacked & ((claims.forward > 0) | (claims.backward > 0)))
    rows.add("claimed as proven but is broken or was not attacked", claims.proven & (claims.success | ~tried))
    rows.add("cannot be attacked, since no change is allowed, but is not recorded so", fixed & ~claims.proven)
    good, ties = claims.success & inside & affordable, torch.zeros_like(claims.success)
    if victim is None:
        missing.append("the victim: its answers were not recomputed")
        good = torch.zeros_like(good)
    else:
        if weights_digest(victim) != claims.victim_sha256:
            problems.append("expected the weights that were attacked, got a victim with another hash")
        try:
            right, met, ties = _answers_hold(rows, claims, victim, attacked)
            good = good & right & met
        except HammingboxError as error:
            problems.append(f"the victim cannot be asked: {error}")
            good = torch.zeros_like(good)
        else:
            _passes_hold(rows, claims, victim, attacked)
    return Verification(
        rows=len(claims.labels),
        claimed=int(claims.success.sum()),
        confirmed=int(good.sum()),
        ties=int((claims.success & ties).sum()),
        problems=(*problems, *rows.problems),
        missing=tuple(missing),
    )


def _by_the_space(claims: Claims) -> tuple[RowMask, RowMask]:
    """Rows whose adversarial row lies in S(x), and rows of which S(x) has another point than the row itself."""
    inside, changeable = [], []
    for rows in _batches(claims):
        candidates = claims.space.candidates(claims.clean[rows])
        inside.append(candidates.contains(claims.adversarial[rows]))
        changeable.append(candidates.changeable)
    none = torch.empty(0, dtype=torch.bool, device="cpu")
    return torch.cat([none, *inside]), torch.cat([none, *changeable])


def _above_budget(claims: Claims) -> str:
    unit = claims.space.unit
    return f"more than {claims.budget} changes" if unit is None else f"dearer than {unit.text(claims.budget)}"


class _Findings:
    """Problems of single rows."""

    def __init__(self, claims: Claims) -> None:
        self._numbers = claims.numbers
        self.problems: list[str] = []

    def add(self, sentence: str, wrong: RowMask) -> None:
        self.problems += [f"row {number}: {sentence}" for number in self._numbers[wrong].tolist()]


def _answers_hold(
    rows: _Findings, claims: Claims, victim: Victim, attacked: RowMask
) -> tuple[RowMask, RowMask, RowMask]:
    """Recomputes answers and what follows from them.

    Returns:
        right: rows that are right before, or tie.
        met: rows whose goal is met after, or ties.
        ties: rows whose margin is 0 up to noise.
    """
    before, after = (_answers(victim, claims, ids) for ids in (claims.clean, claims.adversarial))
    goals = claims.goal.of(claims.labels, claims.schema)
    own = before.gather(1, claims.labels[:, None])[:, 0]
    noise_before, noise_after = (claims.tolerance * part.abs().amax(1).clamp(min=1.0) for part in (before, after))
    near = before.amax(1) - own <= noise_before
    tied_before = near & (_lead(before) <= noise_before)
    right = is_right(before, claims.labels)
    margin = goals.margin(after)
    ties = margin.abs() <= noise_after
    rows.add("claimed as broken but wrong without an attack", claims.success & ~(right | near))
    rows.add("recorded as right but wrong, or the other way round", (right != claims.correct) & ~tied_before)
    rows.add("claimed as broken but does not meet the goal", claims.success & (margin <= 0) & ~ties)
    rows.add("recorded as not broken but meets the goal", attacked & ~claims.success & (margin > 0) & ~ties)
    rows.add("another margin than recorded", attacked & ~((margin - claims.margin).abs() <= 2 * noise_after))
    for what, recorded, now, noise in (
        ("before", claims.clean_logits, before, noise_before),
        ("after", claims.logits, after, noise_after),
    ):
        if recorded is not None:
            rows.add(f"other answers {what} than recorded", ~((recorded - now).abs().amax(1) <= noise))
    return right | near, (margin > 0) | ties, ties


def _lead(logits: Logits) -> RowFloat:
    """By how much the best class leads the second."""
    best = logits.topk(2, dim=1).values
    return best[:, 0] - best[:, 1]


def _passes_hold(rows: _Findings, claims: Claims, victim: Victim, attacked: RowMask) -> None:
    """Compares passes with the attack's formula, and proofs with the number of points."""
    at = attacked.nonzero()[:, 0]
    if len(at) == 0:
        return
    enumerates = isinstance(claims.attack, Exhaustive | Auto)
    goals = claims.goal.of(claims.labels, claims.schema)
    if claims.certificate is not None:
        _proofs_hold(rows, claims, victim, goals, attacked)
        return
    for part in at.split(512):
        candidates = claims.space.candidates(claims.clean[part])
        forward, backward = claims.forward[part].double(), claims.backward[part].double()

        def add(sentence: str, wrong: RowMask, part: RowInt = part) -> None:
            rows.add(sentence, torch.zeros_like(attacked).index_put_((part,), wrong))

        queries = None if claims.attack is None else claims.attack.queries
        problem = Problem.of(victim, candidates, goals.take(part), claims.budget, queries=queries)
        proven = claims.proven[part]
        add("claimed as proven by an attack that proves nothing", proven & (not enumerates))
        settled = proven.nonzero()[:, 0]
        too_few = torch.zeros_like(proven)
        too_few[settled] = forward[settled] < affordable_points(problem, settled) - 1
        add("claimed as proven with fewer passes than points", too_few)
        if claims.attack is None or problem.budget == 0:
            continue
        if isinstance(claims.attack, Search):
            add("attacked without a pass", forward < 1)
        try:
            formula = claims.attack.passes(problem)
        except HammingboxError as error:
            if claims.exact_passes:
                rows.problems.append(f"the attack would have refused: {error}")
            continue
        if formula.is_exact and claims.exact_passes:
            add("other passes than its attack makes", (forward != formula.forward) | (backward != formula.backward))
        elif claims.bounded_passes:
            add("more passes than its attack makes", (forward > formula.forward) | (backward > formula.backward))


def _proofs_hold(rows: _Findings, claims: Claims, victim: Victim, goals: RowGoals, attacked: RowMask) -> None:
    """Proves again what a certificate claims."""
    at = (claims.proven & attacked).nonzero()[:, 0]
    if len(at) == 0 or claims.certificate is None:
        return
    wrong, reason = refuted(
        claims.certificate, victim, claims.space, claims.clean[at], goals.take(at), claims.budget, seed=claims.seed
    )
    if reason:
        rows.problems.append(f"the certificate cannot be applied: {reason}")
    rows.add(
        "claimed as proven but the certificate does not prove it",
        torch.zeros_like(claims.proven).index_put_((at,), wrong),
    )


def _batches(claims: Claims, size: int = 512) -> Iterator[RowInt]:
    return iter(torch.arange(len(claims.labels), device="cpu").split(size))


def _answers(victim: Victim, claims: Claims, ids: Ids) -> Logits:
    empty = torch.empty((0, len(claims.schema.classes)), device="cpu")
    with frozen_eval(victim):
        parts = [ask(victim, ids[rows].to(victim.device)).float().cpu() for rows in _batches(claims) if len(rows)]
    return torch.cat(parts) if parts else empty


def _totals(claims: Claims, attacked: RowMask) -> dict[str, Any]:
    """What a summary of the rows says, recomputed: counts, rates, denominators and intervals."""
    rate = Rate(int(claims.success.sum()), int(attacked.sum()))
    error = Rate(int((~claims.correct | claims.success).sum()), len(claims.labels))
    broken = claims.distance[claims.success].double()
    return {
        "rows": len(claims.labels),
        "correct": int(claims.correct.sum()),
        "attacked": rate.rows,
        "success": rate.hits,
        "proven": int((claims.proven & attacked).sum()),
        "not_attackable": int((claims.proven & ~attacked).sum()),
        "success_rate": rate.known,
        "success_interval": rate.known_interval,
        "robust_error": error.known,
        "robust_error_interval": error.known_interval,
        "mean_distance": broken.mean().item() if len(broken) else 0.0,
        "forward": int(claims.forward.sum()),
        "backward": int(claims.backward.sum()),
        "budget": claims.budget,
    }


def _repeats(claims: Claims) -> list[str]:
    values, counts = claims.numbers.unique(return_counts=True)
    return [f"row {number}: recorded more than once" for number in values[counts > 1].tolist()]


def _compare_with_data(claims: Claims, data: Dataset) -> list[str]:
    if data.schema.digest != claims.schema.digest:
        return ["expected data of the run's schema, got another schema"]
    known = data.places_of(claims.numbers)
    x, y = data.batch(known.clamp(min=0))
    wrong = (known < 0) | (x != claims.clean).any(1) | (y != claims.labels)
    problems = [
        f"row {number}: not the row the data has under this number" for number in claims.numbers[wrong].tolist()
    ]
    if claims.data_sha256 and not problems and data.take(known).digest != claims.data_sha256:
        problems.append(
            "expected the rows whose hash is recorded, got others: some are missing, added or in other order"
        )
    return problems
