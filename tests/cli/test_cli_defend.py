"""`hammingbox defend` as a user calls it: from a checkpoint or from nothing, interrupted, and with mistakes."""

import csv
import json
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
import test_results_cli
from test_cli import PROGRAM, run
from torch import nn

from hammingbox.data.registry import DATASETS
from hammingbox.errors import FileError, InputError, VictimError
from hammingbox.training.config import TrainConfig
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest
from hammingbox.victims.one_hot import OneHot

QUICK = ("--rows", 128, "--epochs", 2, "--robust-rows", 10)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    run("train", "splice", "--model", "cnn", "--epochs", 2, "--out", folder)
    return folder


def test_a_defended_model_is_a_checkpoint_that_compare_takes(start: Path, tmp_path: Path) -> None:
    facts = json.loads(
        run("defend", "splice", "--start", start, "--defence", "swap", "--budget", 2, "--out", tmp_path / "robust",
            "--set", "tries=3", "--set", "clean_share=0.25", "--json", *QUICK)
    )  # fmt: skip
    assert facts["defence"] == "SwapTraining(clean_share=0.25, extra=0, tries=3)"
    assert facts["cost_of_an_epoch"] > 1
    assert facts["train_rows"] == 128
    assert load_checkpoint(tmp_path / "robust").training["defence"] == facts["defence"]
    with (tmp_path / "robust" / "history.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["epoch"] for line in lines] == ["1", "2"]
    assert {"loss", "validation_accuracy", "robust_accuracy", "adversarial_accuracy"} <= lines[0].keys()
    assert not (tmp_path / "robust" / STATE).exists(), "the checkpoint takes the place of the state"
    table = run("compare", "splice", start, tmp_path / "robust", "--attacks", "hotflip", "--budgets", 2, "--rows", 30)
    assert "error in % of all rows" in table
    assert "robust" in table


def test_without_a_start_a_standard_model_is_trained_first(tmp_path: Path) -> None:
    data = tmp_path / "own.csv"
    rows = (f"{i % 3},{i % 5},{i % 2},{'yes' if i % 3 else 'no'}\n" for i in range(240))
    data.write_text("a,b,c,label\n" + "".join(rows))
    out = run(
        "defend", data, "--label", "label", "--defence", "padvt", "--budget", 1, "--epochs", 1, "--robust-rows", 10,
        "--out", tmp_path / "robust",
    )  # fmt: skip
    assert "defended by padvt at budget 1" in " ".join(out.split())
    assert load_checkpoint(tmp_path / "robust" / "start").training["defence"] == "Standard()"


def test_a_start_of_another_training_is_not_taken(tmp_path: Path) -> None:
    data, out = tmp_path / "own.csv", tmp_path / "robust"

    def write(yes: str, no: str) -> None:
        rows = (f"{i % 3},{i % 5},{i % 2},{yes if i % 3 else no}\n" for i in range(240))
        data.write_text("a,b,c,label\n" + "".join(rows))

    arguments = ("defend", data, "--label", "label", "--budget", 1, "--epochs", 1, "--robust-rows", 10, "--out", out)
    write("yes", "no")
    run(*arguments)
    began = load_checkpoint(out / "start").training["data_sha256"]
    for path in out.iterdir():
        if path.is_file():
            path.unlink()  # as if it had been killed before its first epoch was over
    with pytest.raises(FileError, match=r"start.*another config\. Choose another --out"):
        call(*arguments, "--seed", 1)
    run(*arguments)
    assert load_checkpoint(out / "start").training["data_sha256"] == began
    write("no", "yes")
    run(*arguments, "--overwrite")
    anew = load_checkpoint(out / "start").training["data_sha256"]
    assert anew != began
    assert load_checkpoint(out).training["data_sha256"] == anew


def test_a_killed_defence_goes_on_to_the_same_weights(start: Path, tmp_path: Path) -> None:
    arguments = ("defend", "splice", "--start", start, "--defence", "padvt", "--rows", 512, "--epochs", 4,
                 "--robust-rows", 20, "--json")  # fmt: skip
    whole = json.loads(run(*arguments, "--out", tmp_path / "whole"))
    command = [str(part) for part in (PROGRAM, "--threads", 1, *arguments, "--out", tmp_path / "killed")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "killed" / STATE).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run was over before it could be killed"
    resumed = json.loads(run(*arguments, "--out", tmp_path / "killed"))
    first, second = (load_checkpoint(tmp_path / name).victim.state_dict() for name in ("whole", "killed"))
    assert all(first[name].equal(second[name]) for name in first)
    assert resumed["test_accuracy"] == whole["test_accuracy"]
    assert resumed["epochs"] == 4


call = test_results_cli.run
"""The program in this process: a mistake is the error itself."""


def test_a_finished_model_is_kept_unless_the_user_says_otherwise(start: Path, tmp_path: Path) -> None:
    shutil.copytree(start, tmp_path / "model")
    before = weights_digest(load_checkpoint(start).victim)
    train = ("train", "splice", "--model", "cnn", "--epochs", 1, "--seed", 1, "--out", tmp_path / "model")
    for command in (train, ("defend", "splice", "--start", start, "--out", tmp_path / "model")):
        with pytest.raises(
            FileError, match=r"with a finished one\. Use it as it is, .* or train anew with --overwrite"
        ):
            call(*command)
    assert weights_digest(load_checkpoint(tmp_path / "model").victim) == before
    (tmp_path / "model" / STATE).touch()
    with pytest.raises(FileError, match="damaged"):  # it was read: a training that was killed is gone on with
        call(*train)
    (tmp_path / "model" / STATE).unlink()
    call(*train, "--overwrite")
    assert weights_digest(load_checkpoint(tmp_path / "model").victim) != before


@pytest.mark.parametrize("place", [".", "config.json"])
def test_a_defence_does_not_overwrite_its_start(place: str, start: Path) -> None:
    with pytest.raises(InputError, match="the start would be overwritten"):
        call("defend", "splice", "--start", start / place, "--out", start / "x" / "..", "--overwrite")


def test_what_a_defence_cannot_train_is_refused_before_its_start_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = OneHot(nn.Sequential(nn.Flatten(), nn.Linear(60 * 5, 3)), categories=5)
    monkeypatch.setattr("hammingbox.cli.defend.build", lambda *_, **__: fixed)
    with pytest.raises(VictimError, match="learned embedding"):
        call("defend", "splice", "--defence", "ascc", "--out", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_size_of_a_batch_is_what_was_given_or_what_suits_the_model(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StopError(Exception):
        pass

    def train(_opened: object, _start: object, config: TrainConfig, *_: object, **__: object) -> None:
        sizes.append(config.batch_size)
        raise StopError

    sizes: list[int] = []
    own = replace(DATASETS["splice"], training={"batch_size": 7})
    monkeypatch.setattr("hammingbox.cli.defend.train_victim", train)
    for model in ("lstm", "cnn"):
        monkeypatch.setitem(DATASETS, "splice", replace(own, model=model))
        with pytest.raises(StopError):
            call("defend", "splice", "--start", start, "--out", tmp_path)
    assert sizes == [TrainConfig.batch_size, 7]
    with pytest.raises(InputError, match="expected batch_size above 0, got 0"):
        call("defend", "splice", "--start", start, "--out", tmp_path, "--batch-size", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--defence", "magic"), "defence"),
        (("--set", "strength=3"), "setting of padvt"),
        (("--set", "steps=many"), "expected steps as int, got 'many'"),
        (("--set", "ascent=mirorr"), "Did you mean 'mirror'?"),
        (("--criterion", "best"), "expected the name of a known criterion (clean, mean, robust), got 'best'"),
        (("--criterion", "robust", "--robust-rows", "0"), "robust_rows above 0"),
        (("--epochs", "0"), "epochs above 0"),
        (("--model", "lstm"), "expected a checkpoint of the model 'lstm'"),
        (("--rows", "999999"), "expected at most"),
        (("--set", "tau=1e999"), "expected tau as a finite number, got inf"),
        (("--seed", "99999999999999999999"), "Invalid value for '--seed'"),
    ],
)
def test_mistakes_are_one_sentence(arguments: tuple[str, ...], message: str, start: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "defend", "splice", "--start", start, "--out", tmp_path, *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
