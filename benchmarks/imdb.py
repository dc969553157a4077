"""IMDB: loads it, trains a victim with its CPU preset, prints time, memory and clean error.

HAMMINGBOX_DATA=... python benchmarks/imdb.py load
HAMMINGBOX_DATA=... python benchmarks/imdb.py word_cnn --out runs/imdb-word_cnn
HAMMINGBOX_DATA=... python benchmarks/imdb.py bilstm --out runs/imdb-bilstm
HAMMINGBOX_DATA=... python benchmarks/imdb.py error runs/imdb-word_cnn runs/imdb-bilstm
"""

import argparse
import resource
import sys
from pathlib import Path
from time import perf_counter, process_time

import torch

from hammingbox.data import imdb
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch
from hammingbox.training.loop import fit
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.zoo.registry import build


def show_epoch(epoch: Epoch) -> None:
    print(f"epoch {epoch.epoch}/{epoch.epochs}: loss {epoch.loss:.3f}, validation {epoch.validation_accuracy:.4f}, "
          f"{epoch.seconds:.0f} s", flush=True)  # fmt: skip


def memory() -> str:
    """Peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 2**-10)
    return f"peak memory {peak / 2**20:.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures IMDB.")
    parser.add_argument("what", choices=["load", "error", *imdb.TRAINING])
    parser.add_argument("victims", nargs="*", type=Path, help="trained victims to measure the clean error of")
    parser.add_argument("--out", type=Path, help="where to keep the trained victim")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    begin = perf_counter()
    splits = imdb.load()
    took = f"{perf_counter() - begin:.1f} s ({process_time():.1f} s of processor time with imports)"
    print(f"loaded {len(splits.train)} + {len(splits.validation)} + {len(splits.test)} rows in {took}, {memory()}")
    for path in arguments.victims:
        checkpoint = load_checkpoint(path, schema=splits.schema)
        print(f"{checkpoint.model}: clean test error {100 * (1 - accuracy(checkpoint.victim, splits.test)):.2f} %")
    if arguments.what in ("load", "error"):
        return

    victim = build(arguments.what, splits.schema)
    begin, cpu = perf_counter(), process_time()
    config = TrainConfig(**imdb.TRAINING[arguments.what])  # type: ignore[arg-type]
    fit(victim, splits, config, on_epoch=show_epoch)
    trained = f"{perf_counter() - begin:.0f} s ({process_time() - cpu:.0f} s of processor time)"
    right = accuracy(victim, splits.test)
    print(f"{arguments.what}: clean test error {100 * (1 - right):.2f} %, trained in {trained} "
          f"on {arguments.threads} thread(s), {memory()}")  # fmt: skip
    if arguments.out:
        training = {"data": "imdb", **imdb.TRAINING[arguments.what], "test_accuracy": right}
        Checkpoint(victim.eval(), arguments.what, {}, splits.schema, training).save(arguments.out)


if __name__ == "__main__":
    main()
