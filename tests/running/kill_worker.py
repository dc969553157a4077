"""Runs sessions of a small comparison for `test_store_kill.py`, each in a process of its own that kills itself.

Reads one line for each session: the number of the writing SQL statement at which it dies, 0 for never. Answers with how
the process ended. It forks, so that a session begins at once, inside the code that writes.
"""

import os
import signal
import sys
from pathlib import Path

import torch

from hammingbox import ATTACKS, ThreatModel, load_checkpoint
from hammingbox.data import splice
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import SQLiteStore, open_store
from hammingbox.threat.masked_space import MaskedSpace

torch.set_num_threads(1)


WRITES = ("BEGIN IMMEDIATE", "INSERT INTO rows", "UPDATE sessions", "COMMIT")


def die_at(store: SQLiteStore, last: int) -> None:
    """Kills this process when the store is about to run its n-th writing statement: before, in or after a batch."""
    count = 0

    def trace(statement: str) -> None:
        nonlocal count
        count += statement.startswith(WRITES)
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

    store._database.connection.set_trace_callback(trace)


def main() -> None:
    """One session for every line of input: two attacks at two budgets on a slice of Splice, in small batches."""
    victim, folder = map(Path, sys.argv[1:])
    splits = splice.load()
    rows = splits.test.take(slice(0, 40))
    space = MaskedSpace(splits.schema, forbidden={"*": ["N"]})
    checkpoint = load_checkpoint(victim, schema=splits.schema)
    attacks = {"pcaa": ATTACKS["pcaa"](steps=4, rounds=1), "random": ATTACKS["random"]()}
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            with open_store(folder, create=True) as store:
                assert isinstance(store, SQLiteStore)
                die_at(store, int(line))
                for name, attack in attacks.items():
                    for budget in (1, 3):
                        evaluate_into(
                            store, checkpoint, rows, ThreatModel(space, budget), attack, name=name, batch_size=4
                        )
            os._exit(0)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
