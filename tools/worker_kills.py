"""Kills workers, drivers and Ray nodes at random moments; the records must be those of one undisturbed process.

    python tools/worker_kills.py [--kills 20] [--seed 0] [--rows 60] [--only processes,ray] [--kills-only]

The references are runs in one process, with batches of 7 and of 256 rows. Then the same commands run with `--workers
1`, `2` and `4`, undisturbed; then with two workers, and with a Ray cluster of three nodes on this machine, while random
targets are killed with `kill -9`, each after the run has recorded something since the last kill: a worker, the driver
(whose command is given again), for Ray also a whole node, which is replaced. Prints every kill; exits with 1 if any
record differs from the reference with its batch size, or a row is missing.

Between the two batch sizes, the logits of equal rows must have the same bits. A search with gradients that sees other
last bits in other batches needs another number of passes, or ends at another point: such rows are counted. `--only
none` compares the batch sizes alone.
"""

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
from ray_nodes import PATIENCE, add_node, start_cluster

from hammingbox.running.store import FILE

Records = list[tuple[object, ...]]

SIZES = (7, 256)
"""Rows of a batch."""
TRIES = 8
"""Starts of a Ray node on a busy machine."""


def command(out: Path, rows: int, *more: str) -> list[str]:
    """Attacks with gradients and one without them, at two budgets."""
    return [
        sys.executable, "-m", "hammingbox", "--threads", "1", "compare", "splice", "--victim", "splice/standard",
        "--attacks", "auto,pcaa,gga", "--budgets", "1,3", "--rows", str(rows), "--out", str(out), *more,
    ]  # fmt: skip


def start(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a command."""
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[bytes], arguments: Sequence[str]) -> None:
    """Waits for the end.

    Raises:
        SystemExit: it failed.
    """
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} exited with {process.returncode}:\n{errors.decode()[-3000:]}")


def records(folder: Path) -> Records:
    """All rows, byte for byte, and what their runs are."""
    with sqlite3.connect(folder / FILE) as connection:
        found = connection.execute(
            "SELECT attack, budget, number, label, correct, attacked, success, distance, margin, forward, backward, "
            "stage, proven, clean, adversarial, clean_logits, logits FROM rows JOIN runs ON runs.id = rows.run "
            "ORDER BY attack, budget, number"
        ).fetchall()
        twice = connection.execute(
            "SELECT runs.id FROM runs WHERE (SELECT total(rows) FROM sessions WHERE run = runs.id) != "
            "(SELECT count(*) FROM rows WHERE run = runs.id)"
        ).fetchall()
    connection.close()
    if twice:
        sys.exit(f"{folder}: sessions of runs {twice} count other rows than there are")
    return found


def across_sizes(a: Records, b: Records) -> str:
    """How records of two batch sizes compare.

    Raises:
        SystemExit: equal rows have other logits.
    """
    passes, points = slice(9, 12), -3
    for one, other in zip(a, b, strict=True):
        if one[-2] != other[-2] or (one[points] == other[points] and one[-1] != other[-1]):
            sys.exit(f"equal rows with other logits in batches of other sizes: {one[:3]}")
    moved = sum(one[points] != other[points] for one, other in zip(a, b, strict=True))
    other_passes = sum(one[passes] != other[passes] for one, other in zip(a, b, strict=True))
    return f"equal logits; {moved} of {len(a)} rows end at another point, {other_passes} have another number of passes"


def recorded(folder: Path) -> int:
    """Rows in a store so far."""
    if not (folder / FILE).exists():
        return 0
    try:
        with closing(sqlite3.connect(folder / FILE, timeout=30)) as connection:
            return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])
    except sqlite3.Error:  # it is being made
        return 0


def workers_of(driver: int) -> list[int]:
    """The spawned workers of a driver."""
    try:
        children = psutil.Process(driver).children()
        return [child.pid for child in children if "hammingbox.running.worker" in " ".join(child.cmdline())]
    except psutil.Error:
        return []


def actors() -> list[int]:
    """The actors of the cluster that was started here, whose nodes are children of this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if " ".join(process.cmdline()).startswith("ray::RayWorker"):
                found.append(process.pid)
        except psutil.Error:  # it ended meanwhile
            continue
    return found


def torn(
    arguments: Sequence[str],
    folder: Path,
    kills: int,
    chance: random.Random,
    targets: dict[str, Callable[[int], Any]],
) -> Counter[str]:
    """Runs a command until it ends, and kills something whenever rows were recorded, until that was done often enough.

    Args:
        arguments: the command; a finished one starts over in a fresh folder of the caller's.
        folder: of its store.
        kills: how many.
        chance: which target, and when.
        targets: each kills something, given the driver's process; a false value when there was nothing.
    """
    done: Counter[str] = Counter()
    process, seen = start(arguments), 0
    while done.total() < kills and process.poll() is None:
        if (now := recorded(folder)) == seen:
            time.sleep(0.05)
            continue
        seen = now
        time.sleep(chance.uniform(0.0, 0.5))
        name = chance.choice([*targets, "driver"])
        if name == "driver":
            if process.poll() is None:
                process.kill()
                process.communicate()
                process = start(arguments)
                done[name] += 1
        elif targets[name](process.pid):
            done[name] += 1
    finished(process, arguments)
    return done


def kill_one(pids: list[int], chance: random.Random) -> bool:
    """Kills one of some processes; whether there was one."""
    if not pids:
        return False
    try:
        os.kill(chance.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Compares everything with the run of one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["processes", "ray"])
    parser.add_argument("--kills-only", action="store_true", help="leave out the undisturbed runs")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        wanted: dict[int, Records] = {}
        for size in SIZES:
            arguments = command(root / f"serial-{size}", options.rows, "--batch-size", str(size))
            finished(start(arguments), arguments)
            wanted[size] = records(root / f"serial-{size}")
        print(f"batches of {SIZES[0]} and {SIZES[1]} rows: {across_sizes(*wanted.values())}", flush=True)
        bad = 0

        def check(name: str, size: int, note: str) -> None:
            nonlocal bad
            same = records(root / name) == wanted[size]
            bad += not same
            print(f"{name}: {note}, {len(wanted[size])} records {'equal' if same else 'DIFFER'}", flush=True)

        def whole(name: str, size: int, *more: str) -> None:
            if options.kills_only:
                return
            arguments = command(root / name, options.rows, "--batch-size", str(size), *more)
            finished(start(arguments), arguments)
            check(name, size, "undisturbed")

        def killed(name: str, targets: dict[str, Callable[[int], Any]], *more: str) -> None:
            done: Counter[str] = Counter()
            while done.total() < options.kills:
                folder = f"{name}-{done.total()}"
                arguments = command(root / folder, options.rows, "--batch-size", str(SIZES[0]), *more)
                done += torn(arguments, root / folder, options.kills - done.total(), chance, targets)
                check(folder, SIZES[0], f"after kills {dict(done)}")

        if "processes" in options.only:
            for workers in (1, 2, 4):
                for size in SIZES:
                    whole(f"processes-{workers}-{size}", size, "--workers", str(workers))
            targets = {"worker": lambda driver: kill_one(workers_of(driver), chance)}
            killed("processes-torn", targets, "--workers", "2")
        if "ray" in options.only:
            os.environ.update(PATIENCE)
            cluster = start_cluster(cpus=2, tries=TRIES)
            for _ in range(2):
                add_node(cluster, tries=TRIES)

            def kill_node(_driver: int) -> bool:
                cluster.remove_node(chance.choice(list(cluster.worker_nodes)), allow_graceful=False)
                add_node(cluster, tries=TRIES)
                return True

            for workers in (1, 2, 4):
                for size in SIZES:
                    whole(f"ray-{workers}-{size}", size, "--ray", cluster.address, "--workers", str(workers))
            targets = {"actor": lambda _driver: kill_one(actors(), chance), "node": kill_node}
            killed("ray-torn", targets, "--ray", cluster.address, "--workers", "3")
            cluster.shutdown()
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
