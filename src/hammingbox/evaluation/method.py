"""What a run applies to rows: an attack, which may break them, or a certificate, which may also prove them."""

from hammingbox.attacks.base import Attack
from hammingbox.certificates.base import Certificate
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.attack_rows import attack_rows
from hammingbox.evaluation.certify_rows import certify_rows
from hammingbox.evaluation.rows import Rows
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

Method = Attack | Certificate


def apply_to_rows(
    method: Method, victim: Victim, data: Dataset, threat: ThreatModel, goal: Goal, *, seed: int, memory: int
) -> Rows:
    """What a method finds out about the rows of one batch."""
    if isinstance(method, Certificate):
        return certify_rows(victim, data, threat, method, goal, seed=seed, memory=memory)
    return attack_rows(victim, data, threat, method, goal, seed=seed, memory=memory)
