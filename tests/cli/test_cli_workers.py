"""`--workers` and `--ray` as a user gives them."""

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hammingbox import Checkpoint, InputError, WorkerError, build, load_checkpoint
from hammingbox.cli import workers
from hammingbox.data.dataset import Splits
from hammingbox.running.store import FILE
from hammingbox.victims.checkpoint import weights_digest
from toys.program import PROGRAM, call_program


@pytest.fixture(scope="module")
def victim(splice_splits: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small net with its first weights: what it knows does not matter here."""
    folder = tmp_path_factory.mktemp("victim")
    settings = {"channels": 4, "dim": 2}
    Checkpoint(build("cnn", splice_splits.schema, **settings), "cnn", settings, splice_splits.schema).save(folder)
    return folder


def attack(victim: Path, out: Path, rows: int, *more: object) -> list[str]:
    common = ("attack", "splice", "--victim", victim, "--attack", "gga", "--budget", 2, "--rows", rows, "--out", out)
    return [str(part) for part in (*common, "--batch-size", 8, *more)]


def records(folder: Path) -> list[tuple[object, ...]]:
    if not (folder / FILE).exists():
        return []
    with sqlite3.connect(folder / FILE) as connection:
        try:
            found = connection.execute("SELECT * FROM rows ORDER BY run, number").fetchall()
        except sqlite3.OperationalError:  # no tables yet
            found = []
    connection.close()
    return found


def test_a_killed_driver_takes_its_workers_along_and_goes_on(victim: Path, tmp_path: Path) -> None:
    call_program(*attack(victim, tmp_path / "serial", 400))
    torn = attack(victim, tmp_path / "torn", 400, "--workers", 1)
    driver = subprocess.Popen([PROGRAM, "--threads", "1", *torn], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not records(tmp_path / "torn") and time.monotonic() < until:
        time.sleep(0.05)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(driver.pid)], capture_output=True, text=True).stdout
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert 0 < len(records(tmp_path / "torn")) < 400
    while any(Path(f"/proc/{pid}").exists() for pid in children.split()) and time.monotonic() < until:
        time.sleep(0.05)
    assert children.split()
    assert not any(Path(f"/proc/{pid}").exists() for pid in children.split()), "no worker outlives its driver"
    call_program(*torn)
    assert records(tmp_path / "torn") == records(tmp_path / "serial")


def test_more_workers_than_cores_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(workers, "_cores", lambda: 2)
    workers.executor_from(3, None).close()
    assert (
        "3 processes share 2 cores of this machine and gain nothing over 2. Use --workers 2." in capsys.readouterr().err
    )
    workers.executor_from(2, None).close()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["audit", "attack", "compare", "certify", "diagnose", "reproduce"])
def test_every_command_that_computes_rows_has_the_options(command: str) -> None:
    said = call_program(command, "--help")
    assert "--workers" in said
    assert "--ray" in said


def test_a_cluster_that_is_not_there(victim: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'hammingbox[ray]'")
    with pytest.raises(WorkerError, match="got nothing there"):
        call_program(*attack(victim, tmp_path / "out", 10, "--ray", "127.0.0.1:1"))
    assert not (tmp_path / "out").exists(), "nothing is begun without workers"


def defend(out: Path, *more: object) -> list[str]:
    common = ("defend", "splice", "--start", "splice/standard", "--budget", 1, "--rows", 48, "--epochs", 1)
    return [str(part) for part in (*common, "--robust-rows", 8, "--out", out, *more)]


def test_a_defence_in_two_processes_is_the_same_under_torchrun(tmp_path: Path) -> None:
    call_program(*defend(tmp_path / "workers", "--workers", 2))
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "--no-python",
        "--",
    ]
    done = subprocess.run(
        [*torchrun, PROGRAM, "--threads", "1", *defend(tmp_path / "torchrun")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("defended by padvt") == 1, "only the first process speaks"
    first, second = (load_checkpoint(tmp_path / name) for name in ("workers", "torchrun"))
    assert weights_digest(first.victim) == weights_digest(second.victim)
    assert first.training["workers"] == second.training["workers"] == 2


def test_workers_and_torchrun_are_not_both_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=r"expected --workers or torchrun, got both\. Leave out --workers"):
        call_program(*defend(tmp_path, "--workers", 2))
