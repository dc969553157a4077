"""Runs in the real world: stores that vanish, paths written in two ways, signals, damage that only a search finds."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hammingbox
from hammingbox import ATTACKS, FileError, InputError, ThreatModel, open_store
from hammingbox.running.data_reference import DataReference
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import FILE
from hammingbox.running.tasks import Task
from hammingbox.victims.zoo.registry import build
from toys import Case, same_rows

# A store that vanishes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["folder", "file", "log", "replaced"])
def test_a_store_that_is_deleted_while_a_run_goes_on_is_noticed(case: Case, what: str, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    folder = tmp_path / "results"
    calls = 0

    def meanwhile(_done: int, _broken: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            if what == "folder":
                shutil.rmtree(folder)
            elif what == "log":
                (folder / f"{FILE}-wal").unlink()
            else:
                (folder / FILE).unlink()
            if what == "replaced":
                (folder / FILE).touch()

    with (
        open_store(folder, create=True) as store,
        pytest.raises(FileError, match="deleted, moved or replaced while the run went on"),
    ):
        evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), batch_size=5, on_rows=meanwhile)
    assert calls == 2, "it ends at the next batch"


def test_nothing_is_returned_as_recorded_if_the_store_vanished_after_the_last_batch(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    folder = tmp_path / "results"
    with (
        open_store(folder, create=True) as store,
        pytest.raises(FileError, match="give the same command again"),
    ):
        evaluate_into(
            store, checkpoint, data, threat, ATTACKS["ga"](), on_rows=lambda _done, _broken: shutil.rmtree(folder)
        )


def test_damage_is_found_when_a_store_is_opened(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"]())
    with sqlite3.connect(tmp_path / FILE) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rows'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.close()
    content = bytearray((tmp_path / FILE).read_bytes())
    content[(page - 1) * size : (page - 1) * size + 64] = b"\xa5" * 64
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(FileError, match="damaged"):
        open_store(tmp_path)


# One table, two ways to write its path -------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = (f"{i % 3},{i % 5},{i % 2},{'yes' if i % 3 else 'no'}\n" for i in range(240))
    (tmp_path / "mine.csv").write_text("a,b,c,label\n" + "".join(rows))
    return tmp_path / "mine.csv"


def attacked(store: hammingbox.Store, name: str, rows: int) -> hammingbox.Evaluation:
    task = Task.of(name, label="label")
    schema = task.splits.schema
    victim = build("mlp", schema, seed=0).eval()
    threat = ThreatModel(task.space(), 1)
    return evaluate_into(store, victim, task.part("test", rows), threat, ATTACKS["ga"](), source=task.reference)


def test_a_path_written_in_two_ways_is_one_run(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.csv").symlink_to(table)
    with open_store(tmp_path / "out", create=True) as store:
        first = attacked(store, "mine.csv", 10)
        for name in ("mine.csv", str(table), "./mine.csv", f"../{tmp_path.name}/mine.csv", "link.csv"):
            same_rows(attacked(store, name, 10).rows, first.rows)
        attacked(store, str(table), 12)
        (run,) = store.runs()
        assert (run.rows, run.key.data) == (12, "mine.csv")
        assert [session.rows for session in store.sessions(1)] == [10, 2]
        assert DataReference.from_text(run.key.data, run.source).label == "label"
        assert store.damage() == store.damage(1) == []
        table.write_text(table.read_text() + "0,0,0,no\n")
        with pytest.raises(InputError, match="The data has changed since"):
            attacked(store, "mine.csv", 12)


# Signals -------------------------------------------------------------------------------------------------------

PROGRAM = "import sys; from hammingbox.cli.app import main; sys.argv[0] = 'hammingbox'; main()"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_says_how_to_go_on(number: signal.Signals, tmp_path: Path) -> None:
    victim = Path(__file__).parents[1] / "fixtures" / "d15ede3" / "victim"
    command = [
        sys.executable, "-c", PROGRAM, "--threads", "1", "attack", "splice", "--victim", str(victim),
        "--attack", "pcaa", "--budget", "4", "--rows", "600", "--batch-size", "4", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(Path(hammingbox.__file__).parents[1])}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 240
    while not (tmp_path / "out" / f"{FILE}-claims").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    said = " ".join(errors.split())
    assert f"stopped by {number.name}" in said
    assert "give the same command again" in said
    with open_store(tmp_path / "out") as store:
        assert store.damage() == []
