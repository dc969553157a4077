"""Kills commands with `kill -9` at random moments, import and start-up included, and compares what they leave behind.

    python tools/kills.py [--kills 100] [--seed 0] [--only compare reproduce]

Each command (train, defend, compare, reproduce) runs once undisturbed, then again in another folder, killed at a random
moment of its time and given again until it has been killed often enough; the last time it may end. Every fourth kill
falls into the import and the start-up, the seconds that `hammingbox --help` takes. The records, tables and weights of
both folders must be equal, times aside. A command that finishes before its kill starts over in a new folder. Prints the
kills of every command; exits with 1 if anything differs.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from hammingbox.running.store import FILE

Command = Callable[[Path], Sequence[str]]

COMMANDS = ("train", "defend", "compare", "reproduce")
_SMALL = ("--model", "mlp")


def _commands(victim: Path) -> dict[str, Command]:
    """What is killed, each with the folder that it writes to. All of them attack or start from one small net."""
    return {
        "train": lambda out: ("train", "splice", *_SMALL, "--epochs", "6", "--out", str(out / "model")),
        "defend": lambda out: (
            "defend", "splice", "--defence", "hotflip", "--start", str(victim), "--budget", "1", "--epochs", "3",
            "--out", str(out / "model"),
        ),
        "compare": lambda out: (
            "compare", "splice", "--victim", str(victim), "--attacks", "gga,pcaa", "--budgets", "1-3", "--rows", "60",
            "--out", str(out),
        ),
        "reproduce": lambda out: ("reproduce", "trades", "--preset", "smoke", "--out", str(out)),
    }  # fmt: skip


def _start(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "hammingbox", "--threads", "1", *arguments], start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def _run(arguments: Sequence[str]) -> float:
    """Runs a command to its end; the seconds it took."""
    begin = time.monotonic()
    process = _start(arguments)
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"hammingbox {' '.join(arguments)} exited with {process.returncode}:\n{errors.decode()[-2000:]}")
    return time.monotonic() - begin


def _killed(arguments: Sequence[str], seconds: float) -> bool:
    """Whether a command was still running after some seconds, and so was killed."""
    process = _start(arguments)
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    # A kill can come between the last write and the end of the process: `train` then refuses to train a second time.
    if process.returncode and b"a finished one" not in errors:
        sys.exit(f"after a kill, hammingbox {' '.join(arguments)} failed:\n{errors.decode()[-2000:]}")
    return False


def left_behind(folder: Path) -> dict[str, object]:
    """The records and weights in a folder: the rows of stores without times, and hashes of weights."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*.safetensors")):
        found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted(folder.rglob(FILE)):
        with sqlite3.connect(path) as connection:
            found[str(path.relative_to(folder))] = connection.execute(
                "SELECT attack, budget, seed, victim_sha256, rows.* FROM rows JOIN runs ON runs.id = rows.run "
                "ORDER BY attack, budget, seed, victim_sha256, number"
            ).fetchall()
        connection.close()
    return found


def main() -> None:
    """Kills, compares, counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="in all, shared by the commands")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=COMMANDS, help="the commands to kill")
    options = parser.parse_args()
    chance, different, counted, early = random.Random(options.seed), list[str](), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        _run(("train", "splice", *_SMALL, "--epochs", "2", "--out", str(root / "victim")))
        commands, start_up = _commands(root / "victim"), _run(("--help",))
        for name in options.only:
            command = commands[name]
            whole, torn = root / name / "whole", root / name / "torn"
            seconds, wanted, comparisons = _run(command(whole)), left_behind(whole), 0
            while counted[name] < options.kills // len(options.only):
                moment = chance.uniform(0.05, seconds if counted[name] % 4 else start_up)
                if _killed(command(torn), moment):
                    counted[name] += 1
                    early[name] += moment <= start_up
                    continue
                comparisons += 1
                different += [name] * (left_behind(torn) != wanted)
                shutil.rmtree(torn)
            while _killed(command(torn), 600):
                pass
            different += [name] * (left_behind(torn) != wanted)
            print(f"{name}: {counted[name]} kills within {seconds:.1f} s, {early[name]} of them in the first "
                  f"{start_up:.1f} s, {comparisons + 1} finished, "
                  f"{'DIFFERENT' if name in different else 'equal'}", flush=True)  # fmt: skip
    print(f"{counted.total()} kills, {early.total()} during import and start-up: {len(different)} results differ")
    if different:
        sys.exit(1)


if __name__ == "__main__":
    main()
