"""Clean and robust accuracy as plain shares, for training and summaries."""

import torch

from hammingbox.attacks.base import Attack
from hammingbox.data.schema import Dataset
from hammingbox.problem import Untargeted
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


def accuracy(victim: Victim, data: Dataset, *, batch_size: int = 1024) -> float:
    """Share of rows whose class has the largest logit; as in every rate, an exact tie counts for the victim."""
    right = 0
    with frozen_eval(victim), torch.no_grad():
        for rows in torch.arange(len(data)).split(batch_size):
            x, y = data.batch(rows)
            right += int((Untargeted(y).margin(victim(x)) <= 0).sum())
    return right / len(data)


def robust_accuracy(victim: Victim, data: Dataset, threat: ThreatModel, attack: Attack, *, seed: int = 0) -> float:
    """Share of rows that are right and stay right under an attack."""
    x, y = data.batch(slice(None))
    return 1.0 - attack(victim, x, y, threat, seed=seed).success.float().mean().item()
