"""A run killed with `kill -9` at any moment goes on where it stopped and ends with the same records."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hammingbox import Checkpoint, build
from hammingbox.data.dataset import Splits
from hammingbox.running.store import FILE, open_store

KILLS = 20
WORKER = Path(__file__).with_name("kill_worker.py")


@pytest.fixture(scope="module")
def victim(splice_splits: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small net with its first weights: what it knows does not matter here."""
    folder = tmp_path_factory.mktemp("victim")
    Checkpoint(
        build("cnn", splice_splits.schema, channels=4, dim=2), "cnn", {"channels": 4, "dim": 2}, splice_splits.schema
    ).save(folder)
    return folder


def start(victim: Path, folder: Path) -> subprocess.Popen[str]:
    """The worker, one that forks for each session: importing torch twenty times would take minutes."""
    return subprocess.Popen(
        [sys.executable, str(WORKER), str(victim), str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def session(worker: subprocess.Popen[str], last: int = 0) -> int:
    """Runs a session that dies at its n-th writing statement (0: never); how its process ended."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{last}\n")
    worker.stdin.flush()
    return int(worker.stdout.readline())


def finish(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.close()
    worker.stdout.close()
    assert worker.wait(30) == 0


def records(folder: Path) -> list[tuple[object, ...]]:
    """All rows, byte for byte, and what their runs are; times are not part of a record."""
    with sqlite3.connect(folder / FILE) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchone():
            return []  # killed before the tables were there
        found = connection.execute(
            "SELECT attack, budget, seed, victim_sha256, rows.* FROM rows JOIN runs ON runs.id = rows.run "
            "ORDER BY attack, budget, seed, number"
        ).fetchall()
    connection.close()
    return found


def test_twenty_kills_lose_nothing_and_do_nothing_twice(victim: Path, tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    worker = start(victim, whole)
    assert session(worker) == 0
    finish(worker)
    wanted = records(whole)

    worker = start(victim, torn)
    chance = random.Random(0)
    kills, unfinished = 0, 0
    seen: set[tuple[object, ...]] = set()
    while kills < KILLS:
        # A batch takes seven such statements, beginning a run two: most sessions die within their first batches.
        ended = session(worker, chance.randint(1, 20))
        assert ended in (0, -signal.SIGKILL), "a session after a kill must be able to continue"
        kills += ended != 0
        now = {row[:3] + row[5:6] for row in records(torn)}
        assert seen <= now, "a row that was recorded is gone"
        seen = now
        unfinished += len(now) < len(wanted)
    assert unfinished == KILLS, "every kill must hit work that is not done yet"
    assert session(worker) == 0
    finish(worker)

    assert records(torn) == wanted
    with open_store(torn) as store:
        for run in store.runs():
            assert sum(session.rows for session in store.sessions(run.id)) == run.rows, "no row was recorded twice"
