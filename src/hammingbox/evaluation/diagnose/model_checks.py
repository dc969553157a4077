"""Checks of a model of another library: ties between its answers, and what it notes about how it is asked."""

from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.evaluation.diagnose.victim_findings import many_ties, model_note
from hammingbox.types import Logits
from hammingbox.victims.victim import Victim

_TIE = 1e-5
"""Below this, the two largest log-probabilities are equal up to what decides a tie."""


def model_findings(victim: Victim, logits: Logits) -> list[Finding]:
    """What a model and its answers say about how it is asked.

    Args:
        victim: its notes become one finding.
        logits: its answers.
    """
    findings = [model_note("; ".join(victim.notes))] if victim.notes else []
    if not victim.has_gradient:
        top = logits.double().topk(2, dim=1).values
        ties = int((top[:, 0] - top[:, 1] < _TIE).sum())
        if ties:
            findings.append(many_ties(ties, len(logits)))
    return findings
