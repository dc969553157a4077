"""`hammingbox diagnose` on checkpoints made to deserve a finding, and on a sound one."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from hammingbox import Checkpoint, Rate, Splits, build
from hammingbox.cli.app import app
from hammingbox.cli.findings import show_findings
from hammingbox.evaluation.diagnose.run_findings import few_rows


def diagnose(folder: Path, *options: str) -> Result:
    arguments = ["diagnose", "splice", "--victim", str(folder), "--rows", "6", "--budgets", "1", *options]
    return CliRunner().invoke(app, ["--threads", "1", *arguments])


def save(folder: Path, splits: Splits, scale: float) -> Path:
    """An untrained victim whose parameters are all scaled."""
    victim = build("mlp", splits.schema)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.mul_(scale)
    Checkpoint(victim, "mlp", {}, splits.schema).save(folder)
    return folder


def test_a_saturated_victim_is_noted(splice_splits: Splits, tmp_path: Path) -> None:
    done = diagnose(save(tmp_path, splice_splits, 1e3), "--json")
    assert done.exit_code == 0
    (finding,) = (one for one in json.loads(done.stdout)["findings"] if one["slug"] == "saturated-softmax")
    assert finding["severity"] == "note"
    assert finding["check"] == "saturated softmax"
    assert "of 6 clean rows" in finding["seen"]
    assert finding["means"]
    assert finding["remedy"]


def test_an_error_is_exit_code_1(splice_splits: Splits, tmp_path: Path) -> None:
    done = diagnose(save(tmp_path, splice_splits, float("nan")))
    assert done.exit_code == 1
    assert "error finite logits: 6 of 6 rows have NaN or infinite logits" in done.stdout
    assert "see docs: diagnostics/finite-logits" in done.stdout


def test_findings_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_findings([])
    assert capsys.readouterr().out == "diagnostics: no check found a problem\n"
    show_findings([few_rows(Rate(1, 4), 30)], whose="mine")
    assert "mine: warning few rows: the success rate is over 4 attacked rows: 25 %" in capsys.readouterr().out
