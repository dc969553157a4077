"""`--device` of every command that has it: the victim runs there, and the records are those of the CPU."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from devices.ghost import GHOST, ghost_device, operations
from hammingbox.cli.app import app


@pytest.fixture
def ghost() -> Iterator[torch.device]:
    with ghost_device() as device:
        yield device


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    rows = (f"{i % 3},{i % 5},{i % 2},{'yes' if i % 3 else 'no'}\n" for i in range(60))
    path.write_text("a,b,c,label\n" + "".join(rows))
    return path


def run(command: str, *words: object) -> str:
    """Runs a command on the ghost device and asserts that the device had work to do."""
    before = operations()
    result = CliRunner().invoke(app, [command, *map(str, words), "--device", str(GHOST)])
    assert result.exit_code == 0, result.exception or result.output
    assert operations() > before + 10
    return result.output


def test_every_command_runs_on_the_device(table: Path, tmp_path: Path, ghost: torch.device) -> None:
    standard, robust, results = tmp_path / "standard", tmp_path / "robust", tmp_path / "results"
    own = (table, "--label", "label")
    run("train", *own, "--model", "mlp", "--epochs", 1, "--out", standard)
    run(
        "defend", *own, "--start", standard, "--defence", "hotflip", "--budget", 1, "--epochs", 1, "--robust-rows", 4,
        "--out", robust,
    )  # fmt: skip
    run("attack", *own, "--victim", robust, "--attack", "greedy", "--budget", 1, "--rows", 8, "--out", results)
    run("compare", *own, robust, "--attacks", "hotflip", "--budgets", 1, "--rows", 6)
    run("diagnose", *own, "--victim", robust, "--budgets", 1, "--rows", 1)
    run("verify", results, "--data-dir", tmp_path)
