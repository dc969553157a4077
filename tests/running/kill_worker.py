"""Runs sittings of a small comparison for `test_store_kill.py`, each in a process of its own that may be killed.

Reads one line for each sitting; answers with the process's number, then with how it ended. It forks, so that a
sitting begins at once, inside the code that writes.
"""

import os
import sys
from pathlib import Path

import torch

from hammingbox import ATTACKS, ThreatModel, load_checkpoint
from hammingbox.data import splice
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store
from hammingbox.threat.masked_space import MaskedSpace

torch.set_num_threads(1)


def main() -> None:
    """One sitting for every line of input: two attacks at two budgets on a slice of Splice, in small batches."""
    victim, folder = map(Path, sys.argv[1:])
    splits = splice.load()
    rows = splits.test.take(slice(0, 40))
    space = MaskedSpace(splits.schema, forbidden={"*": ["N"]})
    checkpoint = load_checkpoint(victim, schema=splits.schema)
    attacks = {"pcaa": ATTACKS["pcaa"](steps=4, zetas=(1.5,)), "random": ATTACKS["random"]()}
    for _ in sys.stdin:
        process = os.fork()
        if process == 0:
            with open_store(folder, create=True) as store:
                for name, attack in attacks.items():
                    for budget in (1, 3):
                        evaluate_into(
                            store, checkpoint, rows, ThreatModel(space, budget), attack, name=name, batch_size=4
                        )
            os._exit(0)
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
