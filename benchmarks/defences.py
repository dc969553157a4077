"""What a step of each defence costs, in units of a standard step on the same batches.

Run `python benchmarks/defences.py DATA CHECKPOINT [BUDGET]`, for example on ag_news and the folder that
`hammingbox train ag_news --out FOLDER` wrote.
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
    opened = Task.of(sys.argv[1])
    victim = load_checkpoint(Path(sys.argv[2]), schema=opened.splits.schema).victim
    threat = ThreatModel(opened.space(), int(sys.argv[3]) if len(sys.argv) > 3 else 4)
    for name, make in DEFENCES.items():
        cost = relative_cost(victim, opened.splits, make(), threat, steps=12)
        print(f"{name:10s} {cost:5.1f}", flush=True)
