"""`hammingbox train` and `hammingbox defend` as a user calls them: interrupted, with goals, devices and mistakes."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hammingbox.errors import FileError, InputError
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest
from toys.program import PROGRAM, call_program, run_program

QUICK = ("--rows", 128, "--epochs", 2, "--robust-rows", 10)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    call_program("train", "splice", "--model", "cnn", "--epochs", 2, "--out", folder)
    return folder


def test_a_defended_model_is_a_checkpoint_that_compare_takes(start: Path, tmp_path: Path) -> None:
    facts = json.loads(
        call_program(
            "defend", "splice", "--start", start, "--defence", "swap", "--budget", 2, "--out", tmp_path / "robust",
            "--set", "tries=3", "--set", "clean_share=0.25", "--from", "EI", "--from", "IE", "--to", "N",
            "--device", "cpu", "--json", *QUICK,
        )
    )  # fmt: skip
    assert facts["defence"] == "SwapTraining(clean_share=0.25, extra=0, tries=3)"
    assert facts["goal"] == {
        "kind": "either",
        "goals": [{"kind": "direction", "source": source, "target": "N"} for source in ("EI", "IE")],
    }
    assert facts["train_rows"] == 128
    assert load_checkpoint(tmp_path / "robust").training["defence"] == facts["defence"]
    table = call_program(
        "compare", "splice", start, tmp_path / "robust", "--attacks", "hotflip", "--budgets", 2, "--rows", 30
    )
    assert "error in % of all rows" in table
    assert "robust" in table


def test_without_a_start_a_standard_model_is_trained_first(tmp_path: Path) -> None:
    data = tmp_path / "own.csv"
    rows = (f"{i % 3},{i % 5},{i % 2},{'yes' if i % 3 else 'no'}\n" for i in range(240))
    data.write_text("a,b,c,label\n" + "".join(rows))
    out = call_program(
        "defend", data, "--label", "label", "--defence", "padvt", "--budget", 1, "--epochs", 1, "--robust-rows", 10,
        "--out", tmp_path / "robust",
    )  # fmt: skip
    assert "defended by padvt at budget 1" in " ".join(out.split())
    assert load_checkpoint(tmp_path / "robust" / "start").training["defence"] == "Standard()"


def test_a_killed_defence_continues_to_the_same_weights(start: Path, tmp_path: Path) -> None:
    arguments = ("defend", "splice", "--start", start, "--defence", "padvt", "--rows", 512, "--epochs", 4,
                 "--robust-rows", 20, "--json")  # fmt: skip
    whole = json.loads(run_program(*arguments, "--out", tmp_path / "whole"))
    command = [str(part) for part in (PROGRAM, "--threads", 1, *arguments, "--out", tmp_path / "killed")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "killed" / STATE).exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run was over before it could be killed"
    resumed = json.loads(run_program(*arguments, "--out", tmp_path / "killed"))
    first, second = (load_checkpoint(tmp_path / name).victim.state_dict() for name in ("whole", "killed"))
    assert all(first[name].equal(second[name]) for name in first)
    assert resumed["test_accuracy"] == whole["test_accuracy"]
    assert resumed["epochs"] == 4


def test_a_finished_model_is_kept_unless_the_user_says_otherwise(start: Path, tmp_path: Path) -> None:
    shutil.copytree(start, tmp_path / "model")
    before = weights_digest(load_checkpoint(start).victim)
    train = ("train", "splice", "--model", "cnn", "--epochs", 1, "--seed", 1, "--out", tmp_path / "model")
    for command in (train, ("defend", "splice", "--start", start, "--out", tmp_path / "model")):
        with pytest.raises(
            FileError, match=r"with a finished one\. Use it as it is, .* or train anew with --overwrite"
        ):
            call_program(*command)
    assert weights_digest(load_checkpoint(tmp_path / "model").victim) == before
    (tmp_path / "model" / STATE).touch()
    with pytest.raises(FileError, match="damaged"):  # it was read: a killed training is continued
        call_program(*train)
    (tmp_path / "model" / STATE).unlink()
    call_program(*train, "--overwrite")
    assert weights_digest(load_checkpoint(tmp_path / "model").victim) != before


def test_a_repeated_defence_trains_nothing(start: Path, tmp_path: Path) -> None:
    command = ("defend", "splice", "--start", start, "--defence", "swap", "--budget", 1, "--set", "tries=2", *QUICK)
    call_program(*command, "--out", tmp_path)
    before = (tmp_path / "model.safetensors").stat().st_mtime_ns
    said = " ".join(call_program(*command, "--out", tmp_path).split())
    assert "already in" in said
    assert "nothing was trained now" in said
    again = json.loads(call_program(*command, "--out", tmp_path, "--json"))
    assert "tries=2" in again["defence"]
    assert (tmp_path / "model.safetensors").stat().st_mtime_ns == before
    for other in (("--seed", 1), ("--budget", 2), ("--forbid", "*=A"), ("--to", "EI"), ("--set", "tries=3")):
        with pytest.raises(FileError, match="with a finished one"):
            call_program(*command, *other, "--out", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--defence", "magic"), "known defence"),
        (("--set", "strength=3"), "setting of padvt"),
        (("--set", "tau=1e999"), "expected tau as a finite number, got inf"),
        (("--criterion", "robust", "--robust-rows", "0"), "robust_rows above 0"),
        (("--epochs", "0"), "epochs above 0"),
        (("--batch-size", "0"), "expected batch_size above 0, got 0"),
        (("--model", "lstm"), "expected a checkpoint of the model 'lstm'"),
        (("--rows", "999999"), "expected at most"),
        (("--from", "EI", "--to", "EI"), "expected a class to reach other than 'EI'"),
        (("--to", "fraud"), "expected the name of a known class (EI, IE, N), got 'fraud'"),
        (("--device", "gpu"), "got 'gpu'"),
        (("--device", "meta"), "got 'meta'"),
    ],
)
def test_mistakes_are_one_sentence(arguments: tuple[str, ...], message: str, start: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        call_program("defend", "splice", "--start", start, "--out", tmp_path, *arguments)
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir()), "nothing was written"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "steps=many"), "expected steps as int, got 'many'"),
        (("--set", "ascent=mirorr"), "Did you mean 'mirror'?"),
        (
            ("--criterion", "best"),
            "expected the name of a known criterion (balanced, balanced_mean, balanced_robust, clean, last, mean, "
            "robust, worst_class), got 'best'",
        ),
    ],
)
def test_values_of_the_wrong_type_are_one_sentence(
    arguments: tuple[str, ...], message: str, start: Path, tmp_path: Path
) -> None:
    """In a process of its own, as for a user: there the tests' own type checks do not come first."""
    done = subprocess.run(
        [PROGRAM, "defend", "splice", "--start", start, "--out", tmp_path, *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
