"""Checks of an evaluation from its recorded rows alone, without a query of the victim."""

from collections.abc import Sequence

import numpy as np
import torch

from hammingbox.attacks import Attack
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.diagnose import (
    Finding,
    by_severity,
    diagnose_classes,
    diagnose_counts,
    diagnose_denominator,
    diagnose_leak,
    diagnose_results,
)
from hammingbox.evaluation.diagnose.run_findings import broken_and_proven, unequal_rows
from hammingbox.evaluation.diagnose.victim_findings import not_deterministic, probabilities_as_logits, saturated_softmax
from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import ResultSet
from hammingbox.report.status import both_by_budget
from hammingbox.victims.victim import looks_like_probabilities

_NOISE = 1e-3
"""Logits of one row differ by less than this between batch sizes."""


def findings_of(results: ResultSet, victim: str, queried: Sequence[Finding] = ()) -> list[Finding]:
    """What is doubtful about a victim's results.

    Args:
        results: what was recorded.
        victim: its name in the results.
        queried: what `diagnose_victim` found. The same check on recorded rows is left out.

    Returns:
        Errors first, then warnings and notes.
    """
    known = {finding.check for finding in queried}
    found = (finding for finding in recorded_findings(results, victim) if finding.check not in known)
    return by_severity([*queried, *found])


def recorded_findings(results: ResultSet, victim: str) -> list[Finding]:
    """Checks a victim's answers, its rows, and its results against each other."""
    checks = (_rows, _classes, _answers, _leak, _proofs, _attacks)
    return [finding for check in checks for finding in check(results, victim)]


def _answers(results: ResultSet, victim: str) -> list[Finding]:
    if victim not in results.before:
        return []
    answers = results.before[victim]
    logits = torch.from_numpy(answers.logits())
    found = []
    if answers.spread > _NOISE:
        found.append(not_deterministic(answers.spread, "runs"))
    if looks_like_probabilities(logits):
        found.append(probabilities_as_logits("warning"))
    certain = int((logits.softmax(1).amax(1) == 1.0).sum())
    if certain:
        found.append(saturated_softmax(certain, len(logits)))
    return found


def _rows(results: ResultSet, victim: str) -> list[Finding]:
    runs = [run for run in results.select(victim=victim) if run.rows]
    found = []
    rows = len(np.unique(np.concatenate([np.empty(0, np.int64), *(run.place for run in runs)])))
    if victim in results.whole:
        rows = results.whole[victim].rows
    short = sum(run.rows < rows for run in runs)
    if short:
        found.append(unequal_rows(short, len(runs), rows))
    if runs:
        longest = max(runs, key=lambda run: run.success_rate.rows)
        correct, fixed = longest.summary["correct"], longest.summary["not_attackable"]
        found += diagnose_denominator(longest.success_rate, rows=rows, correct=correct, fixed=fixed)
    return found


def _classes(results: ResultSet, victim: str) -> list[Finding]:
    if victim in results.whole:
        counts = results.whole[victim]
        said, right = torch.from_numpy(counts.answers), torch.from_numpy(counts.right)
        return diagnose_counts(said, right, results.schema, goal=results.aim)
    if victim not in results.before:
        return []
    answers = results.before[victim]
    labels = torch.tensor(results.labels, dtype=torch.int64)[answers.places]
    return diagnose_classes(torch.from_numpy(answers.logits()), labels, results.schema, goal=results.aim)


def _leak(results: ResultSet, victim: str) -> list[Finding]:
    """Columns that give the label away; all victims share the rows, so the first one is told."""
    if not results.clean or victim != results.victims[0]:
        return []
    return diagnose_leak(Dataset(results.schema, torch.from_numpy(results.clean_ids()), torch.tensor(results.labels)))


def _proofs(results: ResultSet, victim: str) -> list[Finding]:
    """The smallest budget at which a row is both broken and proven unbreakable."""
    for budget, both in both_by_budget(results, victim).items():
        if both:
            return [broken_and_proven(both, budget)]
    return []


def _attacks(results: ResultSet, victim: str) -> list[Finding]:
    """Results against each other; the first seed of an attack represents all of them."""
    rates: dict[tuple[str, int], Rate] = {}
    attacks: dict[str, Attack] = {}
    for run in results.select(victim=victim):
        if run.rows:
            rates.setdefault((run.facts.attack, run.facts.budget), run.success_rate)
            if (attack := run.facts.known_attack) is not None:
                attacks[run.facts.attack] = attack
    return diagnose_results(rates, attacks)
