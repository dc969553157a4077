"""`make fuzz`: thousands of damaged inputs, each in a process that may die, with the slowest and the largest of them.

A case is a number: `python tests/fuzz/run.py --only 1234` repeats it. What fails is kept in the folder of failures, and
becomes a file of `tests/fuzz/corpus` when it is mended.
"""

import argparse
import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Queue
from random import Random
from time import process_time
from typing import Any

SLOWEST, LARGEST = 10.0, 1024
"""Limits of a case: seconds of processor time, so that a busy machine counts for nothing, and MiB."""
_HANGS = 900.0
"""Seconds after which a process is ended from outside."""


def main() -> int:
    """Runs the cases in worker processes and prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=6000, help="random cases, besides the corpus and the bombs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the cases")
    parser.add_argument("--only", nargs="*", help="some cases: numbers, names of bombs or of files of the corpus")
    parser.add_argument("--failures", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return _work(json.loads(options.worker), options.seed, options.failures)
    from fuzz.bombs import BOMBS
    from fuzz.corpus import FILES

    cases: list[str] = [*FILES, *BOMBS, *map(str, range(options.count))]
    return _report(list(_shown(_results(options.only or cases, options))))


def _shown(found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Says how far the cases are, on standard error."""
    for number, one in enumerate(found, 1):
        if one["error"] or "crash" in one:
            reason = one.get("crash") or one["error"].strip().splitlines()[-1]
            print(f"case {one['case']} failed: {reason}", file=sys.stderr, flush=True)
        if one.get("seconds", 0.0) > SLOWEST / 4:
            print(f"case {one['case']}: {one['seconds']:.1f} s, {one['mib']:.0f} MiB", file=sys.stderr, flush=True)
        if number % 500 == 0:
            print(f"{number:,} cases", file=sys.stderr, flush=True)
        yield one


def _results(cases: Sequence[str], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The outcome of every case, from several processes at once."""
    outcomes: Queue[dict[str, Any] | Exception | None] = Queue()

    def work(part: Sequence[str]) -> None:
        try:
            for outcome in _part_results(part, options):
                outcomes.put(outcome)
            outcomes.put(None)
        except Exception as error:
            outcomes.put(error)

    for first in range(options.jobs):
        threading.Thread(target=work, args=(cases[first :: options.jobs],), daemon=True).start()
    working = options.jobs
    while working:
        outcome = outcomes.get()
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            working -= 1
        else:
            yield outcome


def _part_results(cases: Sequence[str], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The outcome of every case; a worker that dies is replaced by one that begins after the case that killed it."""
    waiting, tail = list(cases), [""]
    while waiting:
        command = [sys.executable, __file__, "--seed", str(options.seed), "--failures", str(options.failures)]
        with subprocess.Popen(
            [*command, "--worker", json.dumps(waiting)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as worker:
            guard = _Guard(worker)
            done = 0
            assert worker.stdout is not None
            assert worker.stderr is not None
            drain = threading.Thread(target=lambda err=worker.stderr: tail.append(err.read()[-2000:]))
            drain.start()
            for line in worker.stdout:
                guard.alive()
                if line.startswith("{"):
                    yield json.loads(line)
                    done += 1
            worker.wait()
            guard.stop()
            drain.join()
        if done < len(waiting):
            yield {"case": waiting[done], "crash": f"exit code {worker.returncode}", "error": tail[-1]}
        waiting = waiting[done + 1 :]


class _Guard:
    """Ends a worker that says nothing for too long."""

    def __init__(self, worker: "subprocess.Popen[str]") -> None:
        self._worker = worker
        self.alive()

    def alive(self) -> None:
        self.stop()
        self._timer = threading.Timer(_HANGS, self._worker.kill)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if hasattr(self, "_timer"):
            self._timer.cancel()


def _work(cases: Sequence[str], seed: int, failures: Path) -> int:
    """The worker: runs cases and prints a line of JSON for each."""
    import torch

    from fuzz.seeds import write_seeds

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        seeds = write_seeds(Path(place) / "seeds")
        for case in cases:
            folder = Path(place) / "case"
            folder.mkdir()
            _reset_peak()
            begin, error = process_time(), ""
            try:
                _run(case, seed, seeds, folder)
            except BaseException:
                error = traceback.format_exc()
                _keep(failures, case, folder, error)
            found = {"case": case, "seconds": process_time() - begin, "mib": _peak(), "error": error}
            shutil.rmtree(folder, ignore_errors=True)
            sys.stdout.write(json.dumps(found | {"target": target_of(case)}) + "\n")
            sys.stdout.flush()
    return 0


def _run(case: str, seed: int, seeds: Path, folder: Path) -> None:
    from fuzz.bombs import BOMBS
    from fuzz.corpus import FILES, read_again
    from fuzz.targets import TARGETS

    if case in BOMBS:
        BOMBS[case](seeds, folder)
    elif case in FILES:
        read_again(case, seeds, folder)
    else:
        TARGETS[target_of(case)](seeds, folder, Random(f"{seed} {case}"))


def target_of(case: str) -> str:
    """What a case is about: a numbered case goes through the targets one after another."""
    from fuzz.targets import TARGETS

    return list(TARGETS)[int(case) % len(TARGETS)] if case.isdigit() else "corpus and bombs"


def _keep(failures: Path, case: str, folder: Path, error: str) -> None:
    target = failures / case
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    (target / "error.txt").write_text(error)


def _reset_peak() -> None:
    with contextlib.suppress(OSError):  # only Linux can; elsewhere the peak is of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """MiB of memory at the most since `_reset_peak`, torch and all libraries included."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _report(found: Sequence[dict[str, Any]]) -> int:
    failed = [one for one in found if one["error"] or "crash" in one]
    timed = [one for one in found if "seconds" in one]
    slow = [one for one in timed if one["seconds"] > SLOWEST]
    large = [one for one in timed if one["mib"] > LARGEST]
    for name, number in sorted(Counter(one.get("target", "crash") for one in found).items()):
        print(f"{number:6,}  {name}")
    print(f"{len(found):,} malformed inputs: {len(failed)} tracebacks or crashes")
    if timed:
        slowest, largest = max(timed, key=lambda one: one["seconds"]), max(timed, key=lambda one: one["mib"])
        print(f"slowest: {slowest['seconds']:.1f} s (case {slowest['case']}, limit {SLOWEST:.0f} s)")
        print(f"peak memory: {largest['mib']:.0f} MiB (case {largest['case']}, limit {LARGEST} MiB)")
    for one in failed:
        print(f"\ncase {one['case']} {one.get('crash', '')}\n{one['error']}")
    for one in (*slow, *large):
        print(f"above a limit: case {one['case']}, {one['seconds']:.1f} s, {one['mib']:.0f} MiB")
    return 1 if failed or slow or large else 0


if __name__ == "__main__":
    sys.exit(main())
