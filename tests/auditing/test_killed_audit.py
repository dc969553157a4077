"""An audit that is killed again and again ends with the records of a whole one and attacks no recorded row again."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import torch
import xgboost

import hammingbox as hb
from hammingbox.evaluation.rows import Rows
from hammingbox.report.measured_what_if import FOLDER
from hammingbox.running.store import FILE
from toys.program import PROGRAM, call_program
from victims.tables import german_credit

STORES = (".", FOLDER)
"""The audit itself, and its frozen columns."""


def recorded(folder: Path) -> dict[tuple[str, str, int], Rows]:
    """The rows of every run of an audit, by its store, what it may change, and its budget."""
    found = {}
    for place in STORES:
        if (folder / place / FILE).is_file():
            with hb.open_store(folder / place, readonly=True) as store:
                for run in store.runs():
                    if run.rows:
                        found[place, run.key.space_sha256, run.key.budget] = store.rows(run.id)
    return found


def equal(one: Rows, other: Rows) -> bool:
    return all(torch.equal(value, getattr(other, name)) for name, value in vars(one).items())


def test_killed_audits_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    german = german_credit(tmp_path)
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1)
    model.fit(german.categorised, (german.labels == "good").astype(int)).save_model(tmp_path / "model.ubj")
    arguments = [
        "audit", german.path, "--label", "risk", "--model", tmp_path / "model.ubj", "--positive", "bad",
        "--rows-per-class", 12, "--budgets", "1-2", "--what-if", 1, "--batch-size", 4,
    ]  # fmt: skip
    call_program(*arguments, "--out", tmp_path / "whole")
    killed, before = tmp_path / "killed", 0
    command = [str(PROGRAM), "--threads", "1", *map(str, arguments), "--out", str(killed)]
    for wanted in (1, 25, 50):  # rows in all runs: in the first run, in the second, in a frozen column
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 240
        while process.poll() is None and time.monotonic() < deadline:
            with suppress(hb.FileError):  # a store that is being made
                if sum(map(len, recorded(killed).values())) >= wanted:
                    break
            time.sleep(0.05)
        kept = recorded(killed)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        now = recorded(killed)
        for key, rows in kept.items():
            assert equal(now[key].take(torch.isin(now[key].numbers, rows.numbers)), rows), "what was there stays"
        assert sum(map(len, now.values())) >= max(wanted, before)
        before = sum(map(len, now.values()))
    call_program(*arguments, "--out", killed)
    whole, found = recorded(tmp_path / "whole"), recorded(killed)
    assert found.keys() == whole.keys()
    assert all(equal(found[key], rows) for key, rows in whole.items())
    for place in STORES:
        with hb.open_store(killed / place, readonly=True) as store:
            for run in store.runs():
                assert run.rows == len(store.rows(run.id).numbers.unique()), "each row was recorded once"
    assert "verified" in call_program("verify", killed)
