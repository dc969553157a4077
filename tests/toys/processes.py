"""What tests run in other processes: a spawned process can import it by this name, whatever runs the tests."""

import pickle
from collections.abc import Iterable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import torch

from hammingbox import ATTACKS, Checkpoint, Dataset, FullSpace, RunSpec, Serial, ThreatModel, open_store
from hammingbox.running.executor import Outcome
from hammingbox.running.record import evaluate_into
from toys import ToyVictim, toy_rows, toy_schema


def compute_elsewhere(sent: bytes) -> bytes:
    """Computes one batch of a run that was sent here."""
    torch.set_num_threads(1)
    spec, places = pickle.loads(sent)
    return pickle.dumps(spec.compute(places))


class Meeting(Serial):
    """Waits after its first batch, which is written by then, until another process has one too."""

    def __init__(self, meet: Barrier) -> None:
        self.meet = meet

    def run(self, spec: RunSpec, batches: Iterable[torch.Tensor]) -> Iterator[Outcome]:
        for number, result in enumerate(super().run(spec, batches)):
            yield result
            if number == 0:
                self.meet.wait(60)


def share_a_run(folder: Path, meet: Barrier) -> None:
    """One of two processes that work on the same run."""
    torch.set_num_threads(1)
    schema = toy_schema((3, 2, 5, 3, 4))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=30)
    with open_store(folder, create=True) as store:
        evaluate_into(
            store, Checkpoint(victim, "toy", {}, schema), Dataset(schema, x, y), ThreatModel(FullSpace(schema), 2),
            ATTACKS["pcaa"](), batch_size=2, executor=Meeting(meet),
        )  # fmt: skip
