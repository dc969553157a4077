"""Measures the overhead of recording: time that a recorded run spends outside the attack, relative to the attack.

Both times come from the same run, so other programs on the machine hardly change the ratio.
"""

import tempfile
from pathlib import Path
from time import perf_counter

import splice_victim

from hammingbox import ATTACKS, ThreatModel
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store

LIMIT = 5.0
ROWS = 100


def main() -> None:
    checkpoint, space = splice_victim.victim(), splice_victim.space()
    rows = splice_victim.splits().test.take(slice(0, ROWS))
    print(f"Splice LSTM, {ROWS} rows, budgets 1 to 3, batches of 256 and of 32")
    print("| attack | batch | attacking, s | recording, s | overhead, % |\n|---|---|---|---|---|")
    total_attack = total_other = 0.0
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder), create=True) as store:
        for name in ("gga", "ga", "hotflip", "sa", "swap", "auto", "pcaa"):
            for size in (256, 32):
                attack_seconds = other = 0.0
                for budget in (1, 2, 3):
                    begin = perf_counter()
                    evaluate_into(
                        store, checkpoint, rows, ThreatModel(space, budget), ATTACKS[name](), name=name,
                        batch_size=size, source=f"splice {size}",
                    )  # fmt: skip
                    whole, run = perf_counter() - begin, store.runs()[-1]
                    attack_seconds += run.seconds
                    other += whole - run.seconds
                total_attack, total_other = total_attack + attack_seconds, total_other + other
                share = 100 * other / attack_seconds
                print(f"| `{name}` | {size} | {attack_seconds:.2f} | {other:.3f} | {share:.1f} |", flush=True)
    overhead = 100 * total_other / total_attack
    verdict = "kept" if overhead <= LIMIT else "broken"
    print(f"all together: {overhead:.2f} % (at most {LIMIT:.0f} %: {verdict})")


if __name__ == "__main__":
    main()
