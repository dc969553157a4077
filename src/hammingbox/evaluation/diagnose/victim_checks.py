"""Checks that query a victim: its answers, and whether its gradients say anything about discrete changes."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.points import try_moves
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.evaluation.diagnose.model_checks import model_findings
from hammingbox.evaluation.diagnose.rule_checks import diagnose_rules
from hammingbox.evaluation.diagnose.text_checks import diagnose_spelling
from hammingbox.evaluation.diagnose.victim_findings import (
    misleading_gradients,
    not_deterministic,
    not_finite_gradients,
    not_finite_logits,
    probabilities_as_logits,
    saturated_softmax,
    train_mode,
    zero_gradients,
)
from hammingbox.problem import Problem
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, RowFloat
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, ask, looks_like_probabilities

LEAST_CORRELATION = 0.3
"""Below this rank correlation, first-order gains say little about true gains."""

_TRIED_ROWS = 8
"""Rows whose single changes are all tried: the check costs n (d - 1) forward passes for each."""


def diagnose_victim(
    victim: Victim, data: Dataset, threat: ThreatModel, *, goal: Goal | None = None, rows: int = 32
) -> list[Finding]:
    """Checks of the victim and its gradients on the first rows of a data set.

    Cost: about n (d - 1) forward passes for each of at most 8 rows, and one backward pass per row.

    Args:
        victim: borrowed.
        data: rows and labels.
        threat: what the attacker may do.
        goal: what counts as success; any class but the true one by default. Gradients are checked on rows for which
            it is possible.
        rows: how many rows are used.
    """
    x, y = data.batch(slice(0, rows), victim.device)
    findings = [*_answers(victim, x), *diagnose_rules(data, threat, goal=goal)]
    if any(finding.severity == "error" for finding in findings):
        return findings
    with frozen_eval(victim):
        findings += model_findings(victim, ask(victim, x))
        findings += diagnose_spelling(victim, data)
        findings += _saturation(victim, x)
        if victim.has_gradient and not threat.forbids_all:
            goals = (goal or AnyOther()).of(y, data.schema)
            chosen = goals.possible.nonzero()[:, 0]
            if len(chosen):
                candidates = threat.space.slots_of(x[chosen])
                findings += _gradients(Problem.of(victim, candidates, goals.take(chosen), threat.budget))
    return findings


def _answers(victim: Victim, x: Ids) -> list[Finding]:
    findings = []
    training = [part for part in victim.modules() if part.training]
    with torch.no_grad():
        first, second = victim(x.clone()), victim(x.clone())
    if training and not torch.equal(first, second):
        findings.append(train_mode(len(training), _spread(first, second)))
    with frozen_eval(victim), torch.no_grad():
        first, second = victim(x.clone()), victim(x.clone())
    if not bool(first.isfinite().all()):
        return [*findings, not_finite_logits(int((~first.isfinite()).any(1).sum()), len(x))]
    if not torch.equal(first, second):
        findings.append(not_deterministic(_spread(first, second), "two passes in eval mode"))
    if victim.has_gradient and looks_like_probabilities(first):
        findings.append(probabilities_as_logits("error"))
    return findings


def _spread(first: Tensor, second: Tensor) -> float:
    return (first - second).abs().max().item()


def _saturation(victim: Victim, x: Ids) -> list[Finding]:
    with torch.no_grad():
        certain = victim(x.clone()).float().softmax(1).amax(1) == 1.0
    return [saturated_softmax(int(certain.sum()), len(x))] if bool(certain.any()) else []


def _gradients(problem: Problem) -> list[Finding]:
    moves = problem.candidates.moves
    able = moves.any(1)
    _, gain = first_order_gain(problem, problem.clean_slots)
    if bool(gain.isnan().any()):
        return [not_finite_gradients(int(gain.isnan().any(1).sum()), len(gain))]
    dead = able & (gain.masked_fill(~moves, 0.0) == 0).all(1)
    findings = [zero_gradients(int(dead.sum()), int(able.sum()))] if bool(dead.any()) else []
    some = (able & ~dead).nonzero()[:_TRIED_ROWS, 0]
    if len(some):
        part = problem.take(some)
        true, _ = try_moves(part, part.clean_slots, part.candidates.moves)
        correlation = rank_correlation(gain[some], true, part.candidates.moves).mean().item()
        if correlation < LEAST_CORRELATION:
            findings.append(misleading_gradients(correlation))
    return findings


def rank_correlation(
    a: Float[Tensor, "batch options"], b: Float[Tensor, "batch options"], mask: Bool[Tensor, "batch options"]
) -> RowFloat:
    """Spearman's rank correlation over the masked options of each row; 0 where there are fewer than two."""

    def centred_ranks(values: Tensor) -> Tensor:
        # Options outside the mask get the lowest ranks and no weight.
        ranks = values.masked_fill(~mask, -torch.inf).argsort(1).argsort(1).double()
        count = mask.sum(1, keepdim=True).clamp(min=1)
        return torch.where(mask, ranks - (ranks * mask).sum(1, keepdim=True) / count, 0.0)

    left, right = centred_ranks(a), centred_ranks(b)
    scale = (left.square().sum(1) * right.square().sum(1)).sqrt()
    return torch.where(scale > 0, (left * right).sum(1) / scale.clamp(min=1e-12), 0.0).float()
