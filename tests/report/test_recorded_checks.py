"""Doubts that recorded rows raise on their own, and how they join what a query of the victim found."""

from dataclasses import replace

import numpy as np
import torch

from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.recorded_checks import findings_of, recorded_findings
from hammingbox.report.result_set import CleanAnswers, ResultSet
from toys import toy_schema
from toys.result_folders import LETTERS
from toys.result_sets import toy_results


def checks(results: ResultSet) -> dict[str, Finding]:
    return {finding.check: finding for finding in recorded_findings(results, "toy")}


def test_a_random_victim_and_probabilities_as_logits() -> None:
    results = toy_results(LETTERS, attacks=("ga",), budgets=(1,))
    assert checks(results).keys() == {"few rows"}
    before, place = results.before["toy"], results.runs[0].place
    logits = before.logits().copy()
    before.add(place, logits + 0.5)
    assert "differ by up to 0.5 between runs" in checks(results)["deterministic victim"].seen
    results.before["toy"] = CleanAnswers()
    results.before["toy"].add(place, torch.from_numpy(logits).softmax(1).numpy())
    assert checks(results)["logits"].severity == "warning"
    results.before["toy"] = CleanAnswers()
    results.before["toy"].add(place, logits * 1000)
    assert "of 30 clean rows have a probability of exactly 1" in checks(results)["saturated softmax"].seen


def test_a_row_cannot_be_broken_and_proven() -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"), budgets=(1, 2))
    assert "broken and proven" not in checks(results)
    weak, strong = results.runs[0], results.runs[-1]  # hotflip at budget 1, enumeration at budget 2
    broken = int(np.flatnonzero(weak.broken)[0])
    proven = strong.proven.copy()
    proven[strong.place == weak.place[broken]] = True
    results.runs[-1] = replace(strong, proven=proven)
    found = checks(results)["broken and proven"]
    assert (found.severity, found.slug) == ("error", "broken-and-proven")
    assert found.seen.startswith("at budget 1, 1 rows are broken")


def test_an_attack_of_the_users_own_is_no_rival_of_gradient_attacks() -> None:
    results = toy_results(toy_schema((6,) * 8), attacks=("hotflip", "ga"), budgets=(1,))
    gradient, free = results.runs
    assert free.success_rate.hits > gradient.success_rate.hits, "the case this is about"
    assert "gradient-free attack wins" in checks(results)
    variant = replace(free, facts=replace(free.facts, attack="ga (guide='loss')"))
    results.runs = [gradient, variant]
    assert "gradient-free attack wins" in checks(results), "an attack of the package under another label"
    results.runs = [gradient, replace(free, facts=replace(free.facts, name="mine", attack="mine"))]
    assert "gradient-free attack wins" not in checks(results)


def test_what_a_query_found_replaces_the_same_check() -> None:
    results = toy_results(LETTERS, attacks=("ga",), budgets=(1,))
    queried = [Finding("few rows", "error", "queried", "it means", "do")]
    assert findings_of(results, "toy", queried) == queried
    assert [finding.severity for finding in findings_of(results, "toy")] == ["warning"]
