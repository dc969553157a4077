"""`hammingbox defend` as a user calls it: from a checkpoint or from nothing, interrupted, and with mistakes."""

import csv
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hammingbox.models.checkpoint import load_checkpoint
from hammingbox.training_state import STATE
from test_cli import PROGRAM, run

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
