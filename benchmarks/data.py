"""Measures a data set: rows, loading time, clean accuracy and training time of its default model, peak memory.

python benchmarks/data.py splice | ips | ag_news | FILE LABEL
"""

import json
import os
import resource
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.data.registry import source_named
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.released import released_victim
from hammingbox.victims.zoo.registry import build


def measure(name: str, label: str | None, folder: Path) -> dict[str, Any]:
    begin = perf_counter()
    source = source_named(name, label=label)
    splits = source.load()
    facts: dict[str, Any] = {
        "data": name,
        "rows": {part: len(getattr(splits, part)) for part in ("train", "validation", "test")},
        "load_seconds": round(perf_counter() - begin, 2),
        "load_peak_mib": _peak(),
        "model": source.model,
    }
    if len(splits.train):
        facts |= _train(source.model, splits, TrainConfig(**source.training), folder)  # type: ignore[arg-type]
    else:
        checkpoint = released_victim("ips")
        facts["test_accuracy"] = accuracy(checkpoint.victim, splits.test)
    return facts | {"peak_mib": _peak(), "busy_processes": round(os.getloadavg()[0], 1)}


def _train(model: str, splits: Splits, config: TrainConfig, folder: Path) -> dict[str, Any]:
    begin, cpu = perf_counter(), process_time()
    victim = build(model, splits.schema)
    epochs = fit(victim, splits, config, on_epoch=lambda epoch: print(epoch, file=sys.stderr, flush=True))
    facts: dict[str, Any] = {
        "epochs": len(epochs),
        "train_seconds": round(perf_counter() - begin, 1),
        "train_cpu_seconds": round(process_time() - cpu, 1),
        "test_accuracy": accuracy(victim, splits.test),
    }
    Checkpoint(victim, model, {}, splits.schema, facts).save(folder)
    return facts


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    data = sys.argv[1]
    print(json.dumps(measure(data, sys.argv[2] if len(sys.argv) > 2 else None, Path("runs") / Path(data).name)))
