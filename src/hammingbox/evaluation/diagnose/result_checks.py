"""Checks of results against each other: attacks that should be stronger than others, and larger budgets."""

from collections.abc import Mapping
from itertools import pairwise

from hammingbox.attacks import Attack, Random
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.evaluation.diagnose.run_findings import gradient_free_wins, random_wins, success_falls
from hammingbox.evaluation.rates import Rate


def diagnose_results(rates: Mapping[tuple[str, int], Rate], attacks: Mapping[str, Attack]) -> list[Finding]:
    """Checks of results against each other.

    Args:
        rates: success rate of each (attack, budget) on the same rows.
        attacks: the attacks by name. A name that is not there says nothing about gradients, and is left out where
            attacks with gradients are compared with attacks without.
    """
    findings = []
    for budget in sorted({budget for _, budget in rates}):
        here = {name: rate for (name, at), rate in rates.items() if at == budget}
        findings += _gradients_against_none(budget, here, attacks)
        findings += _random_against_others(budget, here, attacks)
    for name in dict.fromkeys(name for name, _ in rates):
        findings += _budgets(name, {budget: rate for (other, budget), rate in sorted(rates.items()) if other == name})
    return findings


def _gradients_against_none(budget: int, here: Mapping[str, Rate], attacks: Mapping[str, Attack]) -> list[Finding]:
    """Exact attacks are no rivals of gradient attacks: they are the limit that none can beat."""
    known = {name: rate for name, rate in here.items() if name in attacks}
    with_gradient = {name: rate for name, rate in known.items() if attacks[name].needs_gradient}
    without = {
        name: rate for name, rate in known.items() if not attacks[name].uses_gradient and not attacks[name].exact
    }
    if not with_gradient or not without:
        return []
    best, free = _best(with_gradient), _best(without)
    return [gradient_free_wins(budget, best, free)] if free[1].hits > best[1].hits else []


def _random_against_others(budget: int, here: Mapping[str, Rate], attacks: Mapping[str, Attack]) -> list[Finding]:
    draws = {name: rate for name, rate in here.items() if isinstance(attacks.get(name), Random)}
    others = {name: rate for name, rate in here.items() if name not in draws}
    if not draws or not others:
        return []
    (_, random), best = _best(draws), _best(others)
    return [random_wins(budget, random, best)] if random.hits > best[1].hits else []


def _budgets(name: str, by_budget: Mapping[int, Rate]) -> list[Finding]:
    """The first budget at which an attack breaks fewer rows than at the one before."""
    for smaller, larger in pairwise(by_budget.items()):
        if larger[1].hits < smaller[1].hits:
            return [success_falls(name, smaller, larger)]
    return []


def _best(rates: Mapping[str, Rate]) -> tuple[str, Rate]:
    return max(rates.items(), key=lambda item: item[1].known or 0.0)
