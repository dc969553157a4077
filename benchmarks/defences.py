"""Measures the cost of a training step of each defence, in units of a standard step on the same batches.

Run `python benchmarks/defences.py DATA CHECKPOINT [BUDGET]`, for example with ag_news and the folder written by
`hammingbox train ag_news --out FOLDER`.
"""

import sys
from pathlib import Path

import torch

from hammingbox.defences import DEFENCES
from hammingbox.running.tasks import Task
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.cost import relative_cost
from hammingbox.victims.checkpoint import load_checkpoint

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    task = Task.of(sys.argv[1])
    victim = load_checkpoint(Path(sys.argv[2]), schema=task.splits.schema).victim
    threat = ThreatModel(task.space(), int(sys.argv[3]) if len(sys.argv) > 3 else 4)
    for name, make in DEFENCES.items():
        cost = relative_cost(victim, task.splits, make(), threat, steps=12)
        print(f"{name:10s} {cost:5.1f}", flush=True)
