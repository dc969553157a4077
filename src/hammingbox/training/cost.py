"""What a defence costs: the time of its steps in units of standard steps, measured side by side."""

import copy
from itertools import cycle
from time import perf_counter

import torch

from hammingbox.data.dataset import Splits
from hammingbox.defences.base import Batch, Defence
from hammingbox.defences.standard import Standard
from hammingbox.seeding import borrowed_generators
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batches import in_batches
from hammingbox.training.config import TrainConfig
from hammingbox.training.step import descend
from hammingbox.victims.victim import Victim


def relative_cost(
    victim: Victim,
    splits: Splits,
    defence: Defence,
    threat: ThreatModel,
    *,
    goal: Goal | None = None,
    batch_size: int = 64,
    steps: int = 8,
) -> float:
    """Time of a defence's training step in units of a standard step.

    The two alternate on the same batches, so that other load on the machine slows both. Victim and defence are
    copied: measuring changes neither.

    Args:
        victim: in the state to be measured; inner searches take longer on a robust victim.
        splits: training rows.
        defence: what is measured.
        threat: what the attacker may do.
        goal: what inner attacks aim at; any class but the true one by default.
        batch_size: rows per step.
        steps: batches measured, after one warm-up batch; a small training set is repeated.
    """
    victim, defence, standard = copy.deepcopy(victim).train(), copy.deepcopy(defence), Standard()
    device = victim.device
    defence.begin(victim, len(splits.train), threat)
    optimiser = torch.optim.AdamW(victim.parameters(), lr=0.0)
    seconds = {True: 0.0, False: 0.0}
    with borrowed_generators(device):
        batches = cycle(in_batches(torch.arange(len(splits.train), device="cpu"), batch_size, victim))
        for step, rows in zip(range(steps + 1), batches, strict=False):
            x, y = (part.to(device) for part in splits.train.batch(rows))
            batch = Batch(rows.to(device), x, y, seed=step, goal=goal or AnyOther())
            for measured in (True, False):
                begin = perf_counter()
                loss = (defence if measured else standard)(victim, batch, threat).loss
                descend(victim, optimiser, loss, TrainConfig.clip)
                _wait_for(victim)
                seconds[measured] += perf_counter() - begin if step else 0.0
    return seconds[True] / max(seconds[False], 1e-9)


def _wait_for(victim: Victim) -> None:
    """Waits until the device has done its work: reading a number of the new weights needs all of it."""
    next(victim.parameters()).detach().flatten()[:1].tolist()
