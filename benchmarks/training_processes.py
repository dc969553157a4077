"""Measures trainings in two processes against one: PAdvT on Splice, seconds per epoch, and what the models resist.

    python benchmarks/training_processes.py [--rows 640] [--epochs 2] [--batch-size 64] [--seeds 0]

A ratio of seconds needs two idle cores. The other ratio is of processor time: that of one process over that of the
busier one of two, which other load on the machine changes little. It is what two idle cores would give but for the time
that processes wait for each other. Small batches are slower by the row, so half of 64 rows takes more than half the
time. With `--seeds 3`, models are trained with three seeds in one and in two processes, and their accuracy on attacked
test rows is compared: the noise between seeds is the yardstick.
"""

import argparse
import copy
from dataclasses import replace
from time import process_time

import psutil
import torch

from hammingbox import ATTACKS, Splits, ThreatModel, TrainConfig, TrainingProcesses, Victim, fit, load_checkpoint
from hammingbox.defences import DEFENCES
from hammingbox.evaluation.accuracy import robust_accuracy
from hammingbox.running.tasks import Task

WANTED = 1.5
BUDGET = 3
RESISTED = 1
"""The budget of the final attack: after few epochs on few rows a model resists little."""
ATTACKED = 200


def helper_seconds() -> float:
    """Processor time of the busiest process that was started here."""
    times = [child.cpu_times() for child in psutil.Process().children()]
    return max((time.user + time.system for time in times), default=0.0)


def trained(
    victim: Victim, splits: Splits, threat: ThreatModel, defence: str, config: TrainConfig, team: TrainingProcesses
) -> tuple[float, float]:
    """Trains a victim; seconds per epoch without validation, and processor time of the busiest process per epoch."""
    own, others = process_time(), helper_seconds()
    history = fit(victim, splits, config, defence=DEFENCES[defence](), threat=threat, team=team)
    busiest = max(process_time() - own, helper_seconds() - others)
    return sum(epoch.seconds for epoch in history) / len(history), busiest / len(history)


def main() -> None:
    """Prints one line per number of processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=640)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--defence", default="padvt")
    parser.add_argument("--seeds", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    task = Task.of("splice")
    start = load_checkpoint("splice/standard", schema=task.splits.schema).victim
    splits = replace(task.splits, train=task.splits.train.take(slice(0, options.rows)))
    threat = ThreatModel(task.space(), BUDGET)
    config = TrainConfig(epochs=options.epochs, batch_size=options.batch_size, learning_rate=1e-3, criterion="last")
    few = replace(splits, train=splits.train.take(slice(0, options.batch_size)))
    with TrainingProcesses(1) as one, TrainingProcesses(2) as two:
        for team in (one, two):  # starts processes, which takes seconds
            trained(copy.deepcopy(start), few, threat, options.defence, replace(config, epochs=1), team)
        print(
            f"{options.defence} on {options.rows} rows of Splice in batches of {options.batch_size}, budget {BUDGET}, "
            "one thread per process"
        )
        print("| processes | seconds per epoch | processor time of the busiest, s |\n|---|---|---|")
        found = {}
        for workers, team in ((1, one), (2, two)):
            found[workers] = trained(copy.deepcopy(start), splits, threat, options.defence, config, team)
            print(f"| {workers} | {found[workers][0]:.2f} | {found[workers][1]:.2f} |", flush=True)
        seconds, busiest = (found[1][i] / found[2][i] for i in (0, 1))
        print(f"two over one: {seconds:.2f} by seconds, {busiest:.2f} by processor time (wanted {WANTED})")
        if options.seeds:
            print(
                f"\naccuracy on {ATTACKED} test rows attacked by auto at budget {RESISTED}, in %\n"
                "| processes | by seed | mean |\n|---|---|---|"
            )
        attacked = task.part("test", ATTACKED)
        for workers, team in ((1, one), (2, two)) if options.seeds else ():
            rates = []
            for seed in range(options.seeds):
                victim = copy.deepcopy(start)
                trained(victim, splits, threat, options.defence, replace(config, seed=seed), team)
                rates.append(
                    100 * robust_accuracy(victim, attacked, ThreatModel(threat.space, RESISTED), ATTACKS["auto"]())
                )
            shown = ", ".join(f"{rate:.1f}" for rate in rates)
            print(f"| {workers} | {shown} | {sum(rates) / len(rates):.1f} |", flush=True)


if __name__ == "__main__":
    main()
