"""Is an evaluation of this victim sound? Its answers and gradients, and a few attacks against each other."""

from collections.abc import Callable, Sequence

from hammingbox.attacks import attack_named
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.accuracy import clean_answers
from hammingbox.evaluation.diagnose import Finding, diagnose_classes, diagnose_results, diagnose_victim
from hammingbox.evaluation.rates import Rate
from hammingbox.running.evaluate import evaluate
from hammingbox.running.executor import Executor
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

_WITH_GRADIENTS = ("hotflip", "pcaa", "ga", "random")
"""Two attacks with gradients and two without: if those without win, the gradients are masked."""
_BLACK_BOX = ("ga", "local", "random")
"""Greedy search alone loses to random changes on models with plateaus, such as trees."""


def probes_of(victim: Victim) -> tuple[str, ...]:
    """The attacks that a victim is probed with."""
    return _WITH_GRADIENTS if victim.has_gradient else _BLACK_BOX


def probe_victim(
    victim: Victim,
    data: Dataset,
    threats: Sequence[ThreatModel],
    *,
    goal: Goal | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    on_attack: Callable[[str, int], None] = lambda _name, _budget: None,
) -> list[Finding]:
    """Everything that makes an evaluation of a victim doubtful.

    Args:
        victim: borrowed; a black box is probed by the attacks that need no gradient.
        data: rows to query it with.
        threats: one per budget, the largest last.
        goal: what counts as success; any class but the true one by default.
        seed: of the attacks.
        executor: who computes the batches of attacks; this process by default.
        on_attack: called before each attack with its name and budget.
    """
    findings = diagnose_victim(victim, data, threats[-1], goal=goal)
    if any(finding.severity == "error" for finding in findings):
        return findings
    findings += diagnose_classes(clean_answers(victim, data), data.batch(slice(None), "cpu")[1], data.schema, goal=goal)
    attacks = {name: attack_named(name) for name in probes_of(victim)}
    rates: dict[tuple[str, int], Rate] = {}
    for name, attack in attacks.items():
        for threat in threats:
            on_attack(name, threat.budget)
            found = evaluate(victim, data, threat, attack, goal=goal, seed=seed, executor=executor)
            rates[name, threat.budget] = found.success_rate
    return [*findings, *diagnose_results(rates, attacks)]
