"""What a certificate of an additive model costs: CPU time per row of `certify` at r = 3, all Splice test rows.

python benchmarks/additive_certificates.py
"""

import statistics
import time

import torch

from hammingbox import TrainConfig, fit
from hammingbox.data.registry import DATASETS
from hammingbox.running.certify import certify
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.zoo.registry import build

REPEATS = 9


def main() -> None:
    """Trains each model for three epochs, so that most rows are searched, and prints one line for it."""
    torch.set_num_threads(1)
    splits = DATASETS["splice"].load()
    threat = ThreatModel(MaskedSpace(splits.schema, forbidden={"*": ["N"]}), 3)
    for name, settings in (("linear", {}), ("windows", {"width": 2}), ("windows", {"width": 3})):
        victim = build(name, splits.schema, **settings)
        fit(victim, splits, TrainConfig(epochs=3, learning_rate=1e-2))
        spent = []
        for _ in range(REPEATS):
            begin = time.process_time()
            found = certify(victim.eval(), splits.test, threat, "additive")
            spent.append(1000 * (time.process_time() - begin) / len(splits.test))
        print(
            f"{name} {settings or ''}: {statistics.median(spent):.3f} ms per row (median of {REPEATS}, least "
            f"{min(spent):.3f}); {', '.join(f'{found.status.count(s)} {s}' for s in ('proven', 'broken', 'unknown'))} "
            f"of {int(found.correct.sum())} right"
        )


if __name__ == "__main__":
    main()
