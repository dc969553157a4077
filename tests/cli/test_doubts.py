"""What a user must not overlook stands above the numbers: collapsed victims, leaked labels, rates over no rows."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from hammingbox import Checkpoint, Splits, build
from hammingbox.cli.app import app
from hammingbox.victims.checkpoint import load_checkpoint


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["--threads", "1", *map(str, arguments)])


@pytest.fixture(scope="module")
def collapsed(splice_splits: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A victim that predicts N for every row, whatever is changed."""
    victim, folder = build("mlp", splice_splits.schema), tmp_path_factory.mktemp("collapsed")
    with torch.no_grad():
        last = [module for module in victim.modules() if isinstance(module, torch.nn.Linear)][-1]
        last.weight.zero_()
        last.bias.zero_()
        last.bias[splice_splits.schema.classes.index("N")] = 9.0
    Checkpoint(victim, "mlp", {}, splice_splits.schema).save(folder)
    return folder


def test_compare_says_it_first_and_the_report_too(collapsed: Path, tmp_path: Path) -> None:
    arguments = ("compare", "splice", collapsed, "--attacks", "ga", "--budgets", 1, "--rows", 60, "--out", tmp_path)
    done = call(*arguments)
    assert done.exit_code == 0
    shown = " ".join(done.stdout.split())
    assert shown.startswith("error collapsed victim: the victim predicts 'N' for 60 of 60 rows")
    assert "warning class not attacked: the victim is wrong on all" in shown.split("success in %")[0]
    assert "see docs: diagnostics/collapsed-victim" in shown
    (record,) = json.loads(call(*arguments, "--json").stdout)
    assert record["findings"][0]["slug"] == "collapsed-victim"
    for command in ((), ("report", tmp_path)):  # the page of `compare`, and one from the store alone
        if command:
            assert call(*command).exit_code == 0
        page = (tmp_path / "report.html").read_text()
        assert page.index("error: collapsed victim") < page.index("</header>"), "before the first number"
        assert page.count("error: collapsed victim") == 1


def test_several_victims_are_told_apart(collapsed: Path) -> None:
    done = call("compare", "splice", collapsed, "splice/standard", "--attacks", "ga", "--budgets", 1, "--rows", 40)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"mlp ({collapsed.name}): error collapsed victim")
    (table,) = [place for place, line in enumerate(lines) if "error in % of all rows" in line]
    assert any(line.startswith("lstm (standard): note few rows") for line in lines[:table]), done.stdout


def test_attack_says_it_first(collapsed: Path) -> None:
    arguments = ("attack", "splice", "--victim", collapsed, "--attack", "ga", "--budget", 1, "--rows", 60)
    assert call(*arguments).stdout.startswith("error collapsed victim")
    assert "collapsed-victim" in {
        finding["slug"] for finding in json.loads(call(*arguments, "--json").stdout)["findings"]
    }


def test_no_rate_over_no_rows(collapsed: Path, tmp_path: Path) -> None:
    rest = ("--from", "EI", "--rows", 40)
    done = call("attack", "splice", "--victim", collapsed, "--attack", "ga", "--budget", 1, *rest)
    assert done.exit_code == 1
    assert done.stdout.startswith("error nothing attacked: none of the 40 rows was attacked")
    assert "none of the 0 of those that the goal is about" in " ".join(done.stdout.split())
    assert "0.0 % of" not in done.stdout.replace("0.0 % of all rows", "")
    done = call("attack", "splice", "--victim", collapsed, "--attack", "ga", "--budget", 1, *rest, "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["findings"][0]["slug"] == "nothing-attacked"
    done = call("compare", "splice", collapsed, "--attacks", "ga", "--budgets", 1, *rest, "--out", tmp_path)
    assert done.exit_code == 1
    assert "error nothing attacked" in done.stdout.splitlines()[0]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ga ")]
    assert "0.0" not in line
    page = (tmp_path / "report.html").read_text()
    assert page.index("error: nothing attacked") < page.index("</header>")
    assert "<b>0.0" not in page


def test_a_collapsed_defence_is_said_and_recorded(collapsed: Path, tmp_path: Path) -> None:
    arguments = (
        "defend", "splice", "--start", collapsed, "--defence", "hotflip", "--budget", 1, "--epochs", 1,
        "--learning-rate", "1e-12", "--rows", 64, "--robust-rows", 10, "--out", tmp_path,
    )  # fmt: skip
    done = call(*arguments)
    assert done.exit_code == 0
    assert done.stdout.startswith("error collapsed victim: the victim predicts 'N' for")
    recorded = load_checkpoint(tmp_path).training["findings"]
    assert recorded[0]["slug"] == "collapsed-victim"
    again = call(*arguments)
    assert again.stdout.startswith("error collapsed victim"), "said again when nothing is trained"
    assert json.loads(call(*arguments, "--json").stdout)["findings"] == recorded


def test_a_leaked_label_is_said_by_train_and_compare(tmp_path: Path) -> None:
    data, model = tmp_path / "own.csv", tmp_path / "model"
    rows = (
        f"{i % 7},{i % 11},{i % 13},{'closed' if i % 3 else 'open'},{'yes' if i % 3 else 'no'}\n" for i in range(400)
    )
    data.write_text("a,b,c,status,label\n" + "".join(rows))
    done = call("train", data, "--label", "label", "--epochs", 20, "--out", model)
    assert done.exit_code == 0
    assert done.stdout.startswith("warning leaked label: one column alone gives the label of nearly all of")
    assert "'status'" in done.stdout
    assert "'a'" not in done.stdout
    shown = call("compare", data, model, "--label", "label", "--attacks", "ga", "--budgets", 1, "--rows", 40).stdout
    assert "warning leaked label" in shown.split("success in %")[0]
