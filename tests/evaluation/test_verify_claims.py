"""Every check of `verify_claims`, alone: one claim is changed, and exactly the sentences about it are said."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from hammingbox import ATTACKS, Dataset, Evaluation, FullSpace, Schema, ThreatModel, evaluate
from hammingbox.attacks.base import Attack
from hammingbox.evaluation.verify import TIE, Claims, verify_claims
from hammingbox.threat.goal import Direction
from hammingbox.victims.checkpoint import weights_digest
from toys import ToyVictim, toy_rows


@pytest.fixture
def data(schema: Schema, victim: ToyVictim) -> Dataset:
    x, y = toy_rows(schema, victim, rows=24)
    y[:3] = (y[:3] + 1) % 3  # wrong before any attack
    return Dataset(schema, x, y, "toy", torch.arange(100, 124))


def claims_of(found: Evaluation, victim: ToyVictim) -> Claims:
    rows = found.rows
    assert isinstance(found.attack, Attack)
    return Claims(
        victim_sha256=weights_digest(victim), space=found.threat.space, goal=found.goal, budget=found.threat.budget,
        numbers=rows.numbers, labels=rows.labels, clean=rows.clean, adversarial=rows.adversarial, correct=rows.correct,
        success=rows.success, proven=rows.proven, distance=rows.distance, margin=rows.margin, forward=rows.forward,
        backward=rows.backward, attacked=rows.attacked, clean_logits=rows.clean_logits, logits=rows.logits,
        attack=found.attack, exact_passes=True, bounded_passes=True, data_sha256=found.data.digest,
    )  # fmt: skip


@pytest.fixture
def claims(data: Dataset, victim: ToyVictim, schema: Schema) -> Claims:
    """Only rows of two classes are attacked, so there are attacked, wrong and spared rows, broken and not."""
    goal = Direction(schema.classes[0]) | Direction(schema.classes[1])
    found = evaluate(victim, data, ThreatModel(FullSpace(schema), 1), ATTACKS["exhaustive"](verdict=True), goal=goal)
    made = claims_of(found, victim)
    assert made.attacked is not None
    for part in (made.success, made.attacked & ~made.success, made.correct & ~made.attacked, ~made.correct):
        assert bool(part.any()), "every kind of row is there"
    return made


def first(mask: torch.Tensor) -> int:
    return int(mask.nonzero()[0, 0])


def changed(values: torch.Tensor, row: int, value: object) -> torch.Tensor:
    copy = values.clone()
    copy[row] = torch.as_tensor(value, dtype=copy.dtype)
    return copy


def broken(claims: Claims) -> int:
    return first(claims.success)


def standing(claims: Claims) -> int:
    assert claims.attacked is not None
    return first(claims.attacked & ~claims.success)


def spared(claims: Claims) -> int:
    assert claims.attacked is not None
    return first(claims.correct & ~claims.attacked)


Edit = Callable[[Claims], tuple[Claims, int]]


def edit(field: str, row_of: Callable[[Claims], int], value: Callable[[torch.Tensor], object]) -> Edit:
    def made(claims: Claims) -> tuple[Claims, int]:
        row, values = row_of(claims), getattr(claims, field)
        edits: dict[str, Any] = {field: changed(values, row, value(values[row]))}
        return replace(claims, **edits), row

    return made


def other_category(row: torch.Tensor) -> torch.Tensor:
    """The row with the two first features changed."""
    return torch.cat([(row[:2] + 1) % torch.tensor([3, 2]), row[2:]])


WRONG: dict[str, tuple[Edit, set[str]]] = {
    "another distance": (edit("distance", broken, lambda d: d + 1), {"another distance than recorded"}),
    "attacked": (
        edit("attacked", spared, lambda _: True), {"recorded as attacked but was not, or the other way round"},
    ),
    "not attacked": (
        edit("attacked", standing, lambda _: False), {"recorded as attacked but was not, or the other way round"},
    ),
    "spared row broken": (
        edit("success", spared, lambda _: True),
        {"claimed as broken but was not attacked", "claimed as broken but does not meet the goal"},
    ),
    "spared row with a forward pass": (edit("forward", spared, lambda _: 1), {"has passes but was not attacked"}),
    "spared row with a backward pass": (edit("backward", spared, lambda _: 1), {"has passes but was not attacked"}),
    "spared row proven": (
        edit("proven", spared, lambda _: True), {"claimed as proven but is broken or was not attacked"},
    ),
    "broken row proven": (
        edit("proven", broken, lambda _: True),
        {"claimed as proven but is broken or was not attacked"},
    ),
    "standing row broken": (
        edit("success", standing, lambda _: True),
        {"claimed as broken but does not meet the goal", "claimed as proven but is broken or was not attacked"},
    ),
    "broken row standing": (edit("success", broken, lambda _: False), {"recorded as not broken but meets the goal"}),
    "margin": (edit("margin", standing, lambda m: m + 1), {"another margin than recorded"}),
    "margin is no number": (edit("margin", standing, lambda _: torch.nan), {"another margin than recorded"}),
    "answers before": (edit("clean_logits", standing, lambda a: a + 1), {"other answers before than recorded"}),
    "answers after": (edit("logits", standing, lambda a: a + 1), {"other answers after than recorded"}),
    "no answer": (edit("logits", standing, lambda a: a * torch.nan), {"other answers after than recorded"}),
    "more passes": (edit("forward", standing, lambda f: f + 1000), {"more passes than its attack makes"}),
    "too few passes for a proof": (
        edit("forward", standing, lambda _: 1),
        {"claimed as proven with fewer passes than points"},
    ),
    "no pass": (
        edit("forward", standing, lambda _: 0),
        {"claimed as proven with fewer passes than points", "attacked without a pass"},
    ),
    "a row twice": (
        edit("numbers", standing, lambda _: 100),
        {"recorded more than once", "not the row the data has under this number"},
    ),
    "an unknown row": (edit("numbers", standing, lambda _: 999), {"not the row the data has under this number"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_claim_is_said_and_nothing_else(name: str, claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    assert verify_claims(claims, victim, data=data).ok
    edited, sentences = WRONG[name]
    wrong, row = edited(claims)
    found = verify_claims(wrong, victim, data=data)
    assert found.verdict == "rejected"
    number = int(wrong.numbers[row])
    assert {problem for problem in found.problems if problem.startswith("row")} == {
        f"row {number}: {sentence}" for sentence in sentences
    }


def test_rows_that_left_s_of_x_or_the_budget(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    row = standing(claims)
    two = replace(claims, adversarial=changed(claims.adversarial, row, other_category(claims.clean[row])))
    problems = verify_claims(two, victim, data=data).problems
    assert f"row {100 + row}: more than 1 changes" in problems
    assert f"row {100 + row}: another distance than recorded" in problems
    assert f"row {100 + row}: outside S(x)" not in problems
    row = spared(claims)
    moved = replace(claims, adversarial=changed(claims.adversarial, row, other_category(claims.clean[row])))
    assert f"row {100 + row}: changed but was not attacked" in verify_claims(moved, victim, data=data).problems


def test_wrong_labels_and_rows_are_those_of_other_data(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    row = standing(claims)
    label = replace(claims, labels=changed(claims.labels, row, (claims.labels[row] + 1) % 3))
    assert (
        f"row {100 + row}: not the row the data has under this number"
        in verify_claims(label, victim, data=data).problems
    )
    fewer = data.take(slice(1, None))
    assert verify_claims(claims, victim, data=fewer).problems == (
        "row 100: not the row the data has under this number",
    )
    hashed = replace(claims, data_sha256="0" * 64)
    (problem,) = verify_claims(hashed, victim, data=data).problems
    assert problem.startswith("expected the rows whose hash is recorded")


def test_what_cannot_be_compared_is_missing_not_wrong(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    found = verify_claims(claims, None)
    assert (found.verdict, found.problems, len(found.missing), found.confirmed) == ("could not compare", (), 2, 0)
    assert found.claimed == int(claims.success.sum())
    whole = verify_claims(claims, victim, data=data)
    assert whole.confirmed == whole.claimed == found.claimed
    assert whole.rows == 24


def test_answers_may_differ_by_noise_and_no_more(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    assert claims.logits is not None
    row = standing(claims)
    size = float(claims.logits[row].abs().amax().clamp(min=1.0))
    for noise, ok in ((0.5 * TIE * size, True), (3 * TIE * size, False)):
        nudged = replace(claims, logits=changed(claims.logits, row, claims.logits[row] + noise))
        assert verify_claims(nudged, victim, data=data).ok is ok


def test_another_victim_is_noticed_by_its_hash(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    forged = replace(claims, victim_sha256="0" * 64)
    assert verify_claims(forged, victim, data=data).problems == (
        "expected the weights that were attacked, got a victim with another hash",
    )


@pytest.mark.parametrize("by", [-1, 1])
def test_exact_formulas_are_compared_where_the_same_version_ran(
    by: int, data: Dataset, victim: ToyVictim, schema: Schema
) -> None:
    found = evaluate(victim, data, ThreatModel(FullSpace(schema), 1), ATTACKS["pcaa"](leave=False))
    claims = claims_of(found, victim)
    row = standing(claims)
    for field in ("forward", "backward"):
        values = getattr(claims, field)
        edits: dict[str, Any] = {field: changed(values, row, values[row] + by)}
        wrong = replace(claims, **edits)
        assert verify_claims(wrong, victim, data=data).problems == (
            f"row {100 + row}: other passes than its attack makes",
        )
        assert verify_claims(replace(wrong, exact_passes=False, bounded_passes=False), victim, data=data).ok


def test_only_an_attack_that_enumerates_proves(data: Dataset, victim: ToyVictim, schema: Schema) -> None:
    found = evaluate(victim, data, ThreatModel(FullSpace(schema), 1), ATTACKS["ga"]())
    claims = claims_of(found, victim)
    row = standing(claims)
    wrong = replace(claims, proven=changed(claims.proven, row, True), forward=changed(claims.forward, row, 10_000))
    problems = verify_claims(replace(wrong, exact_passes=False, bounded_passes=False), victim, data=data).problems
    assert problems == (f"row {100 + row}: claimed as proven by an attack that proves nothing",)


def test_a_budget_that_no_run_can_have_had(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    problems = verify_claims(replace(claims, budget=6), victim, data=data).problems
    assert "expected a budget of at most 5 changed features, got 6" in problems
    at_most = verify_claims(replace(claims, budget=5), victim, data=data).problems
    assert not any(problem.startswith("expected a budget") for problem in at_most)


def test_a_summary_of_rows_and_of_no_rows(claims: Claims, victim: ToyVictim, data: Dataset) -> None:
    def said(about: Claims, **summary: object) -> int:
        return len(verify_claims(replace(about, said=summary), victim, data=data).problems) - len(
            verify_claims(about, victim, data=data).problems
        )

    rate = int(claims.success.sum()) / int(claims.attacked.sum())
    mean = float(claims.distance[claims.success].double().mean())
    for value, problems in ((rate, 0), (rate + 5e-10, 0), (rate - 2e-9, 1), (rate + 2e-9, 1), (None, 1), ("1", 1)):
        assert said(claims, success_rate=value) == problems
    assert said(claims, mean_distance=mean, rows=24, attacked=int(claims.attacked.sum())) == 0
    for rows, problems in ((24, 0), (25, 1), (True, 1), (24.0, 0), ([24], 1)):
        assert said(claims, rows=rows) == problems
    for wrong in ([0.0, 1.0], [0.0], 0.5):
        assert said(claims, success_interval=wrong) == 1
    nothing = torch.zeros_like(claims.success)
    none = replace(claims, correct=nothing, attacked=nothing, success=nothing, proven=nothing)
    for value, problems in ((None, 0), (0, 0), (0.0, 0), (1.0, 1), (0.5, 1)):
        assert said(none, success_rate=value) == problems
    for interval, problems in ((None, 0), ([0.0, 1.0], 0), ([0.0, 2.0], 1), ([1.0, 1.0], 1), ([0.0], 1)):
        assert said(none, success_interval=interval) == problems
    for value, problems in ((0.0, 0), (1.0, 1), (None, 1)):
        assert said(none, mean_distance=value) == problems
