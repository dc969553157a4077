"""Claims about rows, from a file or a store, re-checked against the victim: nothing of the run is trusted."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.evaluation.accuracy import is_right
from hammingbox.threat.candidates import hamming
from hammingbox.threat.goal import Goal
from hammingbox.threat.space import Space
from hammingbox.types import Ids, Labels, Logits, RowInt, RowMask
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim

TIE = 1e-4
"""Logits of one row differ by this much at most between batch sizes; a margin within it of 0 is a tie."""


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
        success: rows claimed as broken.
        distance: changed features as recorded.
        said: the number of broken rows that a summary names; None where there is none.
    """

    victim_sha256: str
    space: Space
    goal: Goal
    budget: int
    numbers: RowInt
    labels: Labels
    clean: Ids
    adversarial: Ids
    success: RowMask
    distance: RowInt
    said: int | None = None

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
    """

    rows: int
    claimed: int
    confirmed: int
    ties: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing was rejected."""
        return not self.problems


def verify_claims(claims: Claims, victim: Victim, *, data: Dataset | None = None) -> Verification:
    """Re-checks every adversarial row.

    Each row claimed as broken must lie in S(x) of its clean row, differ from it in no more features than the budget
    and its own record say, be classified correctly without the changes and meet the goal with them, now.

    Args:
        claims: what was written down.
        victim: the model that was attacked; its weights must have the recorded hash.
        data: when given, the clean rows and labels are compared with it.
    """
    problems: list[str] = []
    if weights_digest(victim) != claims.victim_sha256:
        problems.append("expected the weights that were attacked, got a victim with another hash")
    if data is not None:
        problems += _compare_with_data(claims, data)
    claimed = claims.success.bool()
    inside = torch.cat(
        [claims.space.candidates(claims.clean[i]).contains(claims.adversarial[i]) for i in _batches(claims)]
    )
    distance = hamming(claims.clean, claims.adversarial)
    goals = claims.goal.of(claims.labels, claims.schema)
    margin = goals.margin(_answers(victim, claims, claims.adversarial))
    wrong_before = ~_is_nearly_right(_answers(victim, claims, claims.clean), claims.labels)
    met = margin > -TIE
    for sentence, wrong in (
        ("outside S(x)", ~inside),
        (f"more than {claims.budget} changes", distance > claims.budget),
        ("another distance than recorded", distance != claims.distance),
        ("claimed as broken but does not meet the goal", claimed & ~met),
        ("claimed as broken but wrong without an attack", claimed & wrong_before),
    ):
        problems += [f"row {number}: {sentence}" for number in claims.numbers[wrong].tolist()]
    good = claimed & inside & (distance <= claims.budget) & met & ~wrong_before
    ties = int((claimed & (margin.abs() <= TIE)).sum())
    if claims.said is not None and int(claimed.sum()) != claims.said:
        problems.append(f"expected {claims.said} broken rows as in the summary, got {int(claimed.sum())}")
    return Verification(len(claimed), int(claimed.sum()), int(good.sum()), ties, tuple(problems))


def _batches(claims: Claims, size: int = 512) -> Iterator[RowInt]:
    return iter(torch.arange(len(claims.labels), device="cpu").split(size))


def _answers(victim: Victim, claims: Claims, ids: Ids) -> Logits:
    with frozen_eval(victim), torch.no_grad():
        return torch.cat([victim(ids[rows].to(victim.device)).cpu() for rows in _batches(claims)])


def _is_nearly_right(logits: Logits, labels: Labels) -> RowMask:
    own = logits.gather(1, labels[:, None])[:, 0]
    return is_right(logits, labels) | (logits.amax(1) - own <= TIE)


def _compare_with_data(claims: Claims, data: Dataset) -> list[str]:
    if data.schema.digest != claims.schema.digest:
        return ["expected data of the run's schema, got another schema"]
    place = {number: i for i, number in enumerate(data.numbers.tolist())}
    known = torch.tensor([place.get(number, -1) for number in claims.numbers.tolist()], device="cpu")
    x, y = data.batch(known.clamp(min=0))
    wrong = (known < 0) | (x != claims.clean).any(1) | (y != claims.labels)
    return [f"row {number}: not the row the data has under this number" for number in claims.numbers[wrong].tolist()]
