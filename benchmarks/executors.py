"""Measures executors: two workers against one, one worker against none, and how fast the driver can record at most.

    python benchmarks/executors.py [--only processes,ray,driver,ray-driver] [--attacks auto,gga] [--data splice,ips]

Everything is a ratio of runs on the same rows in one go (`--rows`), each executor already started and its batches of
equal size. A ratio needs two idle cores. Records of all executors are compared; the script ends with 1 if they differ.
`driver` and `ray-driver` measure how many rows the driver can record, in a second and in a second of its own processor
time, which other load on the machine changes little. Ray is started here.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from time import perf_counter, process_time

import torch
from torch import Tensor

from hammingbox import (
    ATTACKS,
    Dataset,
    Executor,
    Feature,
    FullSpace,
    Processes,
    RayCluster,
    Rows,
    Schema,
    Serial,
    ThreatModel,
    Victim,
    evaluate,
    evaluate_into,
    load_checkpoint,
    open_store,
)
from hammingbox.running.dispatch import CrewExecutor
from hammingbox.running.tasks import Task
from hammingbox.victims.released import released_victim

WANTED = {"auto": 1.7, "pcaa": 1.7, "gga": 1.6}
MOST_OVERHEAD = 5.0
BUDGET = 3


def victims(names: list[str]) -> dict[str, tuple[Victim, Task]]:
    """The shipped LSTM on Splice, the released LSTM on IPS."""
    found = {}
    for name in names:
        task = Task.of(name)
        if name == "splice":
            victim = load_checkpoint("splice/standard", schema=task.splits.schema).victim
        else:
            victim = released_victim(name).victim
        found[name] = (victim.eval(), task)
    return found


def timed(
    executor: Executor, victim: Victim, data: Dataset, threat: ThreatModel, attack: str, size: int
) -> tuple[float, Rows]:
    """Seconds of a run, and what came out."""
    begin = perf_counter()
    found = evaluate(victim, data, threat, ATTACKS[attack](), batch_size=size, executor=executor)
    return perf_counter() - begin, found.rows


def equal(a: Rows, b: Rows) -> bool:
    return all(torch.equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(Rows))


def compare(kinds: dict[str, Callable[[int], CrewExecutor]], options: argparse.Namespace) -> bool:
    """One line per data set, attack and executor; whether all records agree."""
    agree = True
    print(f"budget {BUDGET}, batches as with --workers, one thread each")
    print("| data | attack | rows | executor | none, s | one, s | two, s | two/one | wanted | overhead of one, % |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for kind, make in kinds.items():
        with make(1) as one, make(2) as two:
            for data, (victim, task) in victims(options.data).items():
                part, threat = task.part("test", options.rows), ThreatModel(task.space(), BUDGET)
                size = two.batch_size(len(part))
                for executor in (one, two):
                    executor.start()
                    timed(executor, victim, part, ThreatModel(threat.space, 0), "random", size)
                for attack in options.attacks:
                    seconds: list[list[float]] = [[], [], []]
                    for _ in range(options.repeats):  # in turns, so that a slow minute hits all of them
                        runs = [timed(e, victim, part, threat, attack, size) for e in (Serial(), one, two)]
                        for times, (spent, rows) in zip(seconds, runs, strict=True):
                            times.append(spent)
                            agree &= equal(runs[0][1], rows)
                    none, first, both = map(min, seconds)
                    print(
                        f"| {data} | `{attack}` | {len(part)} | {kind} | {none:.2f} | {first:.2f} | {both:.2f} "
                        f"| {first / both:.2f} | {WANTED.get(attack, 0):.1f} | {100 * (first / none - 1):.1f} "
                        f"(at most {MOST_OVERHEAD:.0f}) |",
                        flush=True,
                    )
    print(f"records of all executors equal: {agree}")
    return agree


class Free(Victim):
    """A victim that costs nothing: it looks at one feature."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("answers", torch.tensor([[1.0, 0.0], [0.5, 0.25]]))

    def embed(self, ids: Tensor) -> Tensor:
        """The ids themselves."""
        return ids[..., None].float()

    def head(self, embedded: Tensor, ids: Tensor) -> Tensor:  # noqa: ARG002
        """One of two answers."""
        return self.get_buffer("answers")[ids[:, 0]]


def driver_limit(kinds: dict[str, Callable[[int], CrewExecutor]], rows: int) -> None:
    """Rows per second that one driver hands out, takes back and records when computing them costs almost nothing.

    By seconds, and by the driver's own processor time: with enough workers it waits for nobody.
    """
    schema = Schema(tuple(Feature(f"f{i}", ("a", "b")) for i in range(20)), ("no", "yes"))
    ids = torch.randint(0, 2, (rows, 20), generator=torch.Generator().manual_seed(0))
    data, threat = Dataset(schema, ids, torch.zeros(rows, dtype=torch.int64)), ThreatModel(FullSpace(schema), 0)
    print(f"\nthe driver's limit: {rows:,} rows of 20 columns, budget 0, a victim that costs nothing, into a store")
    print("| executor | batch | rows per second | rows per second of the driver's processor time |\n|---|---|---|---|")
    for name, executor in {"none": Serial(), **{kind: make(2) for kind, make in kinds.items()}}.items():
        with executor:
            if isinstance(executor, CrewExecutor):
                executor.start()
            for size in (64, 256, 1024):
                with tempfile.TemporaryDirectory() as folder, open_store(Path(folder), create=True) as store:
                    begin, own = perf_counter(), process_time()
                    evaluate_into(
                        store, Free(), data, threat, ATTACKS["random"](), batch_size=size, executor=executor
                    )  # fmt: skip
                    seconds, processor = perf_counter() - begin, process_time() - own
                    print(f"| {name} | {size} | {rows / seconds:,.0f} | {rows / processor:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (
        ("only", "processes,ray,driver,ray-driver"),
        ("attacks", "auto,pcaa,gga"),
        ("data", "splice,ips"),
    ):
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=default.split(","))
    parser.add_argument("--rows", type=int, default=192)
    parser.add_argument("--repeats", type=int, default=3, help="of which the fastest counts")
    parser.add_argument("--driver-rows", type=int, default=20_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    kinds: dict[str, Callable[[int], CrewExecutor]] = {"processes": Processes}
    if {"ray", "ray-driver"} & set(options.only):
        import ray

        ray.init(num_cpus=4, include_dashboard=False, logging_level=logging.ERROR)
        kinds["ray"] = lambda workers: RayCluster("auto", workers=workers)
    compared = {name: make for name, make in kinds.items() if name in options.only}
    agree = compare(compared, options) if compared else True
    limited = {
        name: kinds[name] for name, word in (("processes", "driver"), ("ray", "ray-driver")) if word in options.only
    }
    if limited:
        driver_limit(limited, options.driver_rows)
    sys.exit(not agree)


if __name__ == "__main__":
    main()
