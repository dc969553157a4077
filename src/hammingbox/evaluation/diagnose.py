"""Is this evaluation itself sound? Checks in the spirit of AutoAttack's, for categorical victims.

A robustness figure is only as good as the attack behind it. Each finding says what was seen, what it means and what
to do about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.points import try_moves
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.rates import Rate
from hammingbox.problem import Problem
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, RowFloat
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, looks_like_probabilities

LEAST_CORRELATION = 0.3
"""Below this rank correlation, first-order gains say little about true ones and gradient attacks work half blind."""

LIMITS = ("exhaustive", "oracle", "auto")
"""No rivals of gradient attacks: enumeration is the limit, and auto has gradients among its stages."""


@dataclass(frozen=True)
class Finding:
    """Something that makes an evaluation doubtful.

    Attributes:
        check: a short name.
        severity: an error makes the figures wrong, a warning makes them doubtful, a note is good to know.
        seen: what was observed, with its numbers.
        means: why it matters.
        remedy: what to do.
    """

    check: str
    severity: Literal["error", "warning", "note"]
    seen: str
    means: str
    remedy: str


def diagnose_victim(victim: Victim, data: Dataset, threat: ThreatModel, *, rows: int = 32) -> list[Finding]:
    """Checks of the victim and its gradients on the first rows of a data set.

    Cost: about n (d - 1) forward passes for each of at most 8 rows, and one backward pass a row.
    """
    x, y = (part.to(victim.device) for part in data.batch(slice(0, rows)))
    findings = _answers(victim, x)
    if any(finding.severity == "error" for finding in findings):
        return findings
    with frozen_eval(victim):
        findings += _saturation(victim, x)
        if victim.has_gradient and threat.budget > 0:
            problem = Problem.of(victim, threat.space.slots_of(x), AnyOther().of(y, data.schema), threat.budget)
            findings += _gradients(problem)
    return findings


def _answers(victim: Victim, x: Ids) -> list[Finding]:
    findings = []
    training = [name or type(victim).__name__ for name, part in victim.named_modules() if part.training]
    with torch.no_grad():
        first, second = victim(x), victim(x)
    if training and not torch.equal(first, second):
        findings.append(
            Finding(
                "train mode",
                "warning",
                f"{len(training)} modules are in train mode and two passes over the same rows differ by up to "
                f"{(first - second).abs().max().item():.3g}",
                "dropout or batch statistics are active; hammingbox attacks in eval mode, your own scores may not",
                "call victim.eval() before you measure accuracy",
            )
        )
    with frozen_eval(victim), torch.no_grad():
        first, second = victim(x), victim(x)
    if not bool(first.isfinite().all()):
        return [
            *findings,
            Finding(
                "finite logits",
                "error",
                f"{int((~first.isfinite()).any(1).sum())} of {len(x)} rows have NaN or infinite logits",
                "no attack can compare losses that are not numbers",
                "check the weights and the encoding of the rows",
            ),
        ]
    if not torch.equal(first, second):
        findings.append(
            Finding(
                "deterministic victim",
                "error",
                f"in eval mode, two passes over one batch differ by up to {(first - second).abs().max().item():.3g}",
                "a random victim hides behind its noise: one lucky pass is not robustness",
                "switch the randomness off, or average over it inside the victim and attack the average",
            )
        )
    if victim.has_gradient and looks_like_probabilities(first):
        findings.append(
            Finding(
                "logits",
                "error",
                "every answer is not negative and sums to 1",
                "these are probabilities: a second softmax makes gradients vanish and confident rows tie",
                "drop the victim's final softmax, or use BlackBox if you cannot",
            )
        )
    return findings


def _saturation(victim: Victim, x: Ids) -> list[Finding]:
    with torch.no_grad():
        certain = victim(x).float().softmax(1).amax(1) == 1.0
    if not bool(certain.any()):
        return []
    return [
        Finding(
            "saturated softmax",
            "note",
            f"{int(certain.sum())} of {len(x)} rows have a probability of exactly 1 in float32",
            "cross entropy and its gradient are 0 there; searches on probabilities go blind",
            "keep the margin loss (the default of every attack here)",
        )
    ]


def _gradients(problem: Problem) -> list[Finding]:
    moves = problem.candidates.moves
    able = moves.any(1)
    _, gain = first_order_gain(problem, problem.clean_slots)
    if bool(gain.isnan().any()):
        return [
            Finding(
                "finite gradients",
                "error",
                f"{int(gain.isnan().any(1).sum())} of {len(gain)} rows have NaN gradients",
                "gradient attacks cannot move on these rows and will look weak",
                "look for a division by zero, a logarithm of zero or a square root at zero in the victim",
            )
        ]
    dead = able & (gain.masked_fill(~moves, 0.0) == 0).all(1)
    findings = []
    if bool(dead.any()):
        findings.append(
            Finding(
                "zero gradients",
                "warning",
                f"{int(dead.sum())} of {int(able.sum())} rows have a gradient of exactly 0 in every change",
                "gradients are masked (rounding, argmax, saturation): gradient attacks are blind here",
                "trust gradient-free attacks (ga, genetic, exhaustive) for these rows",
            )
        )
    some = (able & ~dead).nonzero()[:8, 0]
    if len(some):
        part = problem.take(some)
        true, _ = try_moves(part, part.clean_slots, part.candidates.moves)
        correlation = rank_correlation(gain[some], true, part.candidates.moves).mean().item()
        if correlation < LEAST_CORRELATION:
            findings.append(
                Finding(
                    "soft against discrete",
                    "warning",
                    f"first-order gains and true gains of single changes have a rank correlation of {correlation:.2f}",
                    "the victim is far from linear between categories: methods that trust one gradient mislead",
                    "prefer pcaa (many gradients, real draws) and searches on true losses over hotflip, gsa and gga",
                )
            )
    return findings


def rank_correlation(
    a: Float[Tensor, "batch options"], b: Float[Tensor, "batch options"], mask: Bool[Tensor, "batch options"]
) -> RowFloat:
    """Spearman's rank correlation over the masked options of each row; 0 where there are fewer than two."""

    def centred_ranks(values: Tensor) -> Tensor:
        # What is not in the mask gets the lowest ranks and then no weight.
        ranks = values.masked_fill(~mask, -torch.inf).argsort(1).argsort(1).double()
        count = mask.sum(1, keepdim=True).clamp(min=1)
        return torch.where(mask, ranks - (ranks * mask).sum(1, keepdim=True) / count, 0.0)

    left, right = centred_ranks(a), centred_ranks(b)
    scale = (left.square().sum(1) * right.square().sum(1)).sqrt()
    return torch.where(scale > 0, (left * right).sum(1) / scale.clamp(min=1e-12), 0.0).float()


def diagnose_results(rates: Mapping[tuple[str, int], Rate], needs_gradient: Mapping[str, bool]) -> list[Finding]:
    """Checks of results against each other.

    Args:
        rates: success rate of each (attack, budget) on the same rows.
        needs_gradient: whether each attack uses gradients.
    """
    findings = []
    for budget in sorted({b for _, b in rates}):
        here = {name: rate for (name, b), rate in rates.items() if b == budget}
        with_gradient = {n: r for n, r in here.items() if needs_gradient[n]}
        without = {n: r for n, r in here.items() if not needs_gradient[n] and n not in LIMITS}
        if with_gradient and without:
            findings += _gradient_free_wins(budget, _best(with_gradient), _best(without))
        if "random" in here and len(here) > 1:
            findings += _random_wins(budget, here["random"], _best({n: r for n, r in here.items() if n != "random"}))
    for name in dict.fromkeys(n for n, _ in rates):
        findings += _falls_with_budget(name, {b: r for (n, b), r in sorted(rates.items()) if n == name})
    return findings


def _best(rates: Mapping[str, Rate]) -> tuple[str, Rate]:
    return max(rates.items(), key=lambda item: item[1].value)


def _gradient_free_wins(budget: int, gradient: tuple[str, Rate], free: tuple[str, Rate]) -> list[Finding]:
    (name, rate), (other, better) = gradient, free
    if better.hits <= rate.hits:
        return []
    return [
        Finding(
            "gradient-free attack wins",
            "warning" if better.value > rate.interval[1] else "note",
            f"at budget {budget}, {other} breaks {better.hits} rows and {name}, the best gradient attack, {rate.hits}",
            "gradients are masked, or the gradient attack has too few steps",
            "report the worst case over both; give the gradient attack more steps and restarts",
        )
    ]


def _random_wins(budget: int, random: Rate, best: tuple[str, Rate]) -> list[Finding]:
    name, rate = best
    if random.hits <= rate.hits:
        return []
    return [
        Finding(
            "random search wins",
            "error",
            f"at budget {budget}, random changes break {random.hits} rows, {name}, the best other attack, {rate.hits}",
            "the other attacks are not searching: wrong losses, wrong space, or masked gradients",
            "check the victim's outputs and the allowed changes before you trust any figure",
        )
    ]


def _falls_with_budget(name: str, by_budget: Mapping[int, Rate]) -> list[Finding]:
    for (smaller, before), (larger, after) in pairwise(by_budget.items()):
        if after.hits < before.hits:
            return [
                Finding(
                    "success falls with budget",
                    "warning",
                    f"{name} breaks {before.hits} rows at budget {smaller} and {after.hits} at budget {larger}",
                    "a larger budget contains the smaller one: the attack stops short of what it has shown it can do",
                    "report the best over all budgets up to each, or use an attack that re-chooses its changes",
                )
            ]
    return []
