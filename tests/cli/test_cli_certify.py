"""`hammingbox certify` as a user calls it."""

import json
from pathlib import Path

import pytest

from hammingbox import Checkpoint, InputError, TrainConfig, build, fit
from hammingbox.data.dataset import Splits
from toys.program import call_program, run_program


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory, splice_splits: Splits) -> Path:
    folder = tmp_path_factory.mktemp("linear")
    victim = build("linear", splice_splits.schema)
    fit(victim, splice_splits, TrainConfig(epochs=2, learning_rate=1e-2))
    Checkpoint(victim, "linear", {}, splice_splits.schema).save(folder)
    return folder


def test_certify_records_resumes_verifies_and_reports(linear: Path, tmp_path: Path) -> None:
    arguments = ("certify", "splice", "--victim", linear, "--budgets", "1-2", "--out", tmp_path)
    first = json.loads(call_program(*arguments, "--rows", 20, "--json"))
    assert [line["budget"] for line in first["by_budget"]] == [1, 2]
    facts = json.loads(call_program(*arguments, "--rows", 40, "--json"))
    for line in facts["by_budget"]:
        assert line["unknown"] == 0
        assert line["certified"] == line["attacked"]
        assert sum(part["rows"] for part in line["classes"].values()) == 40
    call_program(
        "attack", "splice", "--victim", linear, "--attack", "oracle", "--budget", 1, "--rows", 40, "--out", tmp_path
    )
    assert "3 verified" in call_program("verify", tmp_path)
    call_program("report", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "Certified and attacked accuracy" in page
    assert "hammingbox certify splice" in page
    assert "broken and proven" not in page


def test_the_table_names_classes_and_confidence(linear: Path) -> None:
    said = call_program("certify", "splice", "--victim", linear, "--budgets", "1", "--rows", 20)
    assert "certified of attacked accuracy by class" in said
    votes = call_program(
        "certify", "splice", "--victim", linear, "--budgets", "1", "--rows", 2, "--keep", 5, "--set", "samples=100"
        , "--method", "ablation",
    )  # fmt: skip
    assert "99.9 %" in votes


def test_mistakes_are_one_sentence(linear: Path) -> None:
    with pytest.raises(InputError, match="got a raw Linear"):
        call_program("certify", "splice", "--victim", linear, "--method", "ablation")
    with pytest.raises(InputError, match="expected dense layers"):
        call_program("certify", "splice", "--victim", linear, "--method", "relaxation")
    run_program("certify", "splice", "--victim", linear, "--method", "magic", code=2)
