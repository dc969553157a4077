"""What a defence costs: the time of its steps over that of standard steps, in one run."""

import copy
from itertools import cycle
from time import perf_counter

import torch

from hammingbox.data.dataset import Splits
from hammingbox.defences.base import Batch, Defence
from hammingbox.defences.standard import Standard
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.batches import descend, in_batches
from hammingbox.training.config import TrainConfig
from hammingbox.victims.victim import Victim


def relative_cost(
    victim: Victim, splits: Splits, defence: Defence, threat: ThreatModel, *, batch_size: int = 64, steps: int = 8
) -> float:
    """Time of a defence's training step in units of a standard step.

    Both take turns on the same batches, so that a busy machine slows both. Victim and defence are copied: nothing that
    is measured here is learned.

    Args:
        victim: in the state that is to be measured; a robust victim makes an inner search longer.
        splits: training rows.
        defence: what is measured.
        threat: what the attacker may do.
        batch_size: rows a step.
        steps: batches measured, after one of each to warm up; few batches take turns.
    """
    victim, defence, standard = copy.deepcopy(victim).train(), copy.deepcopy(defence), Standard()
    defence.begin(victim, len(splits.train), threat)
    optimiser = torch.optim.AdamW(victim.parameters(), lr=0.0)
    seconds = {True: 0.0, False: 0.0}
    with torch.random.fork_rng(devices=[]):
        batches = cycle(in_batches(torch.arange(len(splits.train)), batch_size, victim))
        for step, rows in zip(range(steps + 1), batches, strict=False):
            x, y = splits.train.batch(rows)
            for measured in (True, False):
                begin = perf_counter()
                batch = Batch(rows, x, y, seed=step)
                loss = (defence if measured else standard)(victim, batch, threat).loss
                descend(victim, optimiser, loss, TrainConfig.clip)
                seconds[measured] += perf_counter() - begin if step else 0.0
    return seconds[True] / max(seconds[False], 1e-9)
