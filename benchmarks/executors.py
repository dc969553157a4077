"""Measures executors: two workers against one, one worker against none, and how fast the driver can record at most.

    python benchmarks/executors.py [--only processes,ray,driver,ray-driver] [--attacks auto,gga] [--data splice,ips]

Everything is a ratio of runs on the same rows (`--rows`), each executor already started and its batches of equal size.
What starting costs is not counted: importing, sending the victim, and the first run. What each run costs is: packing
it, handing out its batches, taking the results. The executors take turns, and medians of the turns count; a run that
is shorter than a second and a half is repeated in its turn. A ratio of seconds needs two idle cores. Beside it are
ratios of processor time, of this process and its workers together, which other programs change less. Records of all
executors are compared; the script ends with 1 if they differ. As in the program, freed memory is kept; with
`GLIBC_TUNABLES=` in the environment it is not.

`driver` and `ray-driver` measure how many rows the driver can record, in a second and in a second of its own processor
time, which other load on the machine changes little. Ray is started here.
"""

import argparse
import logging
import math
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import psutil
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
from hammingbox.running.freed_memory import keep_freed_memory
from hammingbox.running.tasks import Task
from hammingbox.victims.released import released_victim

WANTED = {"auto": 1.7, "pcaa": 1.7, "gga": 1.6}
MOST_OVERHEAD = 5.0
BUDGET = 3
LEAST_SECONDS = 1.5
"""Of what is timed at once."""


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


@dataclass(frozen=True)
class Spent:
    """What a run took: seconds, and seconds of the processors of this process and of the workers."""

    wall: float
    processor: float


def workers_here() -> list[psutil.Process]:
    """The workers and actors that this process has started; a cluster's other processes are not among them."""
    found = []
    for process in psutil.Process().children(recursive=True):
        command = " ".join(process.cmdline())
        if "hammingbox.running.worker" in command or command.startswith("ray::RayWorker"):
            found.append(process)
    return found


def processor_seconds(processes: list[psutil.Process]) -> float:
    """Seconds that some processes have used so far."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def timed(
    executor: Executor, victim: Victim, data: Dataset, threat: ThreatModel, attack: str, size: int, times: int = 1
) -> tuple[Spent, Rows]:
    """What a run takes on average that is repeated a few times, and what came out."""
    processes = [psutil.Process(), *workers_here()]
    begin, before = perf_counter(), processor_seconds(processes)
    for _ in range(times):
        found = evaluate(victim, data, threat, ATTACKS[attack](), batch_size=size, executor=executor)
    wall, processor = perf_counter() - begin, processor_seconds(processes) - before
    return Spent(wall / times, processor / times), found.rows


def equal(a: Rows, b: Rows) -> bool:
    return all(torch.equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(Rows))


HEAD = (
    "data", "attack", "rows", "executor", "none, s", "one, s", "two, s", "two/one", "wanted", "overhead of one, %",
    "processor time: none, s", "one, s", "two, s", "overhead of one, %",
)  # fmt: skip


def compare(kinds: dict[str, Callable[[int], CrewExecutor]], options: argparse.Namespace) -> bool:
    """One line per data set, attack and executor; whether all records agree."""
    agree = True
    print(f"budget {BUDGET}, batches as with --workers, one thread each; medians of {options.repeats} turns")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    with ExitStack() as stack:
        crews = {kind: [stack.enter_context(make(count)) for count in (1, 2)] for kind, make in kinds.items()}
        executors = [Serial(), *chain.from_iterable(zip(*crews.values(), strict=True))]
        for data, (victim, task) in victims(options.data).items():
            part, threat = task.part("test", options.rows), ThreatModel(task.space(), BUDGET)
            size = executors[-1].batch_size(len(part))
            for executor in executors:
                if isinstance(executor, CrewExecutor):
                    executor.start()
            for attack in options.attacks:
                # The first run is not counted: it sends the victim, and a process's first steps are slow.
                first = [timed(executor, victim, part, threat, attack, size)[0].wall for executor in executors]
                times = math.ceil(LEAST_SECONDS / min(first))
                spent: dict[Executor, list[Spent]] = {executor: [] for executor in executors}
                wanted: Rows | None = None
                for turn in range(options.repeats):  # in turns, there and back, so that a slow minute hits all of them
                    for executor in executors if turn % 2 == 0 else reversed(executors):
                        found, rows = timed(executor, victim, part, threat, attack, size, times)
                        spent[executor].append(found)
                        wanted = wanted or rows
                        agree &= equal(wanted, rows)
                for kind, (one, two) in crews.items():
                    walls, processors = (
                        [median(getattr(each, field.name) for each in spent[who]) for who in (executors[0], one, two)]
                        for field in fields(Spent)
                    )
                    overheads = [100 * (one_worker / none - 1) for none, one_worker, _ in (walls, processors)]
                    cells = (
                        data, f"`{attack}`", len(part), kind, *(f"{seconds:.2f}" for seconds in walls),
                        f"{walls[1] / walls[2]:.2f}", f"{WANTED.get(attack, 0):.1f}",
                        f"{overheads[0]:.1f} (at most {MOST_OVERHEAD:.0f})",
                        *(f"{seconds:.2f}" for seconds in processors), f"{overheads[1]:.1f}",
                    )  # fmt: skip
                    print(f"| {' | '.join(map(str, cells))} |", flush=True)
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
    parser.add_argument("--repeats", type=int, default=5, help="turns, of which the medians count")
    parser.add_argument("--driver-rows", type=int, default=20_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
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
