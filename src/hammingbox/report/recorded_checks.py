"""Doubts about an evaluation that its recorded rows raise by themselves; no victim is asked."""

import numpy as np
import torch

from hammingbox.attacks import ATTACKS
from hammingbox.evaluation.diagnose import Finding, diagnose_results
from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import Study
from hammingbox.victims.victim import looks_like_probabilities

_NOISE = 1e-3
"""Logits of one row differ by less than this between batch sizes."""

_FEW = 30
"""Below this many rows an interval is wider than most effects one looks for."""


def doubts(study: Study, victim: str) -> list[Finding]:
    """Checks a victim of a study: its answers, its rows, and its results against each other."""
    return [*_answers(study, victim), *_rows(study, victim), *_results(study, victim)]


def _answers(study: Study, victim: str) -> list[Finding]:
    if victim not in study.before:
        return []
    known = study.before[victim]
    logits = torch.from_numpy(known.logits())
    found = []
    if known.spread > _NOISE:
        found.append(
            Finding(
                "deterministic victim",
                "error",
                f"logits recorded for the same clean row differ by up to {known.spread:.3g} between runs",
                "a random victim hides behind its noise: one lucky pass is not robustness",
                "switch the randomness off, or average over it inside the victim and attack the average",
            )
        )
    if looks_like_probabilities(logits):
        found.append(
            Finding(
                "logits",
                "warning",
                "every recorded answer is not negative and sums to 1",
                "these may be probabilities: a second softmax makes gradients vanish and confident rows tie",
                "drop the victim's final softmax, or use BlackBox if you cannot",
            )
        )
    certain = int((logits.softmax(1).amax(1) == 1.0).sum())
    if certain:
        found.append(
            Finding(
                "saturated softmax",
                "note",
                f"{certain} of {len(logits)} clean rows have a probability of exactly 1 in float32",
                "cross entropy and its gradient are 0 there; searches on probabilities go blind",
                "keep the margin loss (the default of every attack here)",
            )
        )
    return found


def _rows(study: Study, victim: str) -> list[Finding]:
    runs = [run for run in study.select(victim=victim) if len(run)]
    found = []
    asked = np.unique(np.concatenate([np.empty(0, np.int64), *(run.place for run in runs)]))
    short = [run for run in runs if len(run) < len(asked)]
    if short:
        found.append(
            Finding(
                "unequal rows",
                "warning",
                f"{len(short)} of {len(runs)} runs have fewer than the {len(asked)} rows that some run has",
                "rates of attacks are then over different rows and cannot be compared",
                "let the runs finish: the same command goes on where it stopped",
            )
        )
    correct = max((int(run.correct.sum()) for run in runs), default=0)
    if 0 < correct < _FEW:
        found.append(
            Finding(
                "few rows",
                "note",
                f"only {correct} rows were right before the attack",
                "intervals over so few rows are wide",
                "attack more rows",
            )
        )
    return found


def _results(study: Study, victim: str) -> list[Finding]:
    """Attacks that the package does not know by name say nothing about gradients, and are left out."""
    rates: dict[tuple[str, int], Rate] = {}
    for run in study.select(victim=victim):
        if len(run) and run.facts.attack in ATTACKS:
            rates.setdefault((run.facts.attack, run.facts.budget), run.success_rate)  # the first seed speaks for all
    return diagnose_results(rates, {name: ATTACKS[name]().needs_gradient for name, _ in rates})
