"""The leaderboard: the page follows from its records, and the records from the shipped weights."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox.data import splice
from hammingbox.errors import FileError
from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.rates import Rate
from hammingbox.files import read_json
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint, load_victim, weights_digest
from hammingbox.victims.zoo.registry import build
from toys.program import call_program
from toys.tools import load_tool

tool = load_tool("leaderboard")
shown = load_tool("leaderboard_page")


def test_the_page_is_made_from_the_records() -> None:
    text = tool.PAGE.read_text()
    assert shown.page(text, read_json(tool.RECORDS)) == text, "run: python tools/leaderboard.py page"


def test_the_records_are_about_the_shipped_weights() -> None:
    recorded = {victim["name"]: victim["victim_sha256"] for victim in read_json(tool.RECORDS)["victims"]}
    assert recorded == {name: weights_digest(load_victim(name)) for name in shipped.shipped_names()}


def test_the_clean_errors_are_recomputed() -> None:
    records, rows = read_json(tool.RECORDS), splice.load().test
    for victim in records["victims"]:
        facts = records["data"][victim["name"].partition("/")[0]]
        part = rows.take(slice(0, facts["rows"]))
        assert facts["numbers"] == " ".join(map(str, part.numbers.tolist()))
        x, y = part.batch(slice(None))
        with torch.no_grad():
            right = is_right(load_victim(victim["name"])(x), y).tolist()
        for run in victim["runs"]:
            other = sum((letter == "w") == sure for letter, sure in zip(run["outcomes"], right, strict=True))
            assert other <= 2, "up to rounding between machines"


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two shipped victims: one of the fixtures, and an untrained one."""
    files = tmp_path / "files" / "splice"
    old = load_checkpoint(Path(__file__).parents[1] / "fixtures" / "d15ede3" / "victim")
    Checkpoint(old.victim, old.model, old.settings, old.schema, old.training | {"history": [1]}).save(files / "old")
    settings = {"channels": 4, "dim": 2}
    record = {"defence": "Swap(tries=8)", "budget": 2, "origin": {"label": "raw", "command": "make it", "start": "old"}}
    Checkpoint(build("cnn", old.schema, **settings), "cnn", settings, old.schema, record).save(files / "raw")
    monkeypatch.setattr(shipped, "FILES", tmp_path / "files")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_evaluation_and_page_of_two_victims(two: Path) -> None:
    records = tool.evaluate(two / "runs", rows=24, budgets=(1, 2))
    assert tool.evaluate(two / "runs", rows=24, budgets=(1, 2)) == records, "read from the store"
    old, raw = records["victims"]
    assert (old["name"], raw["name"]) == ("splice/old", "splice/raw")
    assert "history" not in old["training"]
    one = next(run["outcomes"] for run in old["runs"] if run["budget"] == 1)
    assert len(one) == records["data"]["splice"]["rows"] == 24
    assert "p" in one, "all changes are tried at budget 1"
    assert "o" not in one
    printed = json.loads(
        call_program("compare", "splice", "splice/old", "--attacks", "auto", "--budgets", "1-2", "--rows", 24, "--json")
    )
    assert [record["robust_error"] for record in printed] == [
        shown.error_of(run["outcomes"]).value for run in old["runs"]
    ]
    text = shown.page(f"# Title\n{shown.BEGIN} old {shown.END}\nrules\n", records)
    assert text.startswith("# Title\n")
    assert text.endswith("\nrules\n")
    assert " old " not in text
    lines = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `splice/")}
    wrong = {v["name"]: sum(run["outcomes"].count(c) for run in v["runs"] for c in "wx") for v in (old, raw)}
    ranked = {v["name"]: shown.is_ranked(v, records["data"]["splice"]) for v in (old, raw)}
    assert list(lines) == sorted(wrong, key=lambda name: (not ranked[name], wrong[name])), "the better one comes first"
    error = shown.error_of(old["runs"][1]["outcomes"])
    assert f"| {100 * error.value:.1f} ({100 * error.interval[0]:.1f}-" in lines["splice/old"]
    assert "[Swap, budget 2](#splice-raw)" in lines["splice/raw"]
    labels = [int(label) for label in records["data"]["splice"]["labels"].split()]
    rates = shown.by_class(one, "wx", records["data"]["splice"]["labels"])
    assert [rate.rows for rate in rates] == [labels.count(each) for each in range(3)]
    assert sum(rate.hits for rate in rates) == shown.error_of(one).hits
    answer, floor = shown.constant(records["data"]["splice"])
    assert floor.hits == 24 - max(labels.count(each) for each in range(3))
    assert text.count(f"| always class {answer} | - | 0 | none | {100 * floor.value:.1f} (") == 1
    assert "certified accuracy, budget 1 |" in text
    assert "certified accuracy, budget 2" not in text, "nothing is proven there"
    assert str(two) not in text + json.dumps(records)
    with pytest.raises(FileError, match="expected the marks"):
        shown.page("# Title", records)


def test_a_victim_with_one_answer_has_no_rank() -> None:
    labels = "0 " * 40 + "1 " * 60

    def victim(name: str, outcomes: str) -> dict[str, Any]:
        return {
            "name": f"splice/{name}", "model": "cnn", "parameters": 1, "training": {}, "settings": {},
            "runs": [{"budget": 1, "outcomes": outcomes}],
        }  # fmt: skip

    same, weak, good = (
        victim("same", "w" * 40 + "p" * 60),
        victim("weak", "x" * 100),
        victim("good", "x" * 50 + "p" * 50),
    )
    facts = {"rows": 100, "of": 100, "labels": labels, "classes": ["a", "b"], "space": "all"}
    assert shown.constant(facts) == ("b", Rate(40, 100))
    table = shown.table({"budgets": [1], "data": {"splice": facts}, "victims": [same, weak, good]}, "splice")
    cells = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in table[2:]]
    assert [(line[0], line[7]) for line in cells] == [
        ("splice/good", "1"), ("splice/weak", "2"), ("always class b", "-"), ("splice/same", "-"),
    ]  # fmt: skip
    assert [line[5] for line in cells] == ["0.0", "0.0", "100.0", "100.0"], "the worst class"
    assert [line[8] for line in cells] == ["50.0", "0.0", "60.0", "60.0"], "certified"


def test_a_result_that_does_not_hold_is_not_recorded(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Rejected:
        ok, problems = False, ("row 3 is not broken",)

    monkeypatch.setattr(tool, "verify_store", lambda _: Rejected())
    with pytest.raises(FileError, match="got: row 3 is not broken"):
        tool.evaluate(two / "runs", rows=4, budgets=(1,))


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [("oooo", "oooo", 1.0), ("xxxxxx", "oooooo", 2 / 64), ("xw", "wx", 1.0), ("xxxxxxo", "oooooop", 2 / 64)],
)
def test_mcnemars_exact_test(first: str, second: str, p: float) -> None:
    assert shown.mcnemar(first, second) == pytest.approx(p)
    assert shown.mcnemar(second, first) == pytest.approx(p)


def test_victims_that_the_test_cannot_separate_share_a_rank() -> None:
    def victim(name: str, outcomes: str) -> dict[str, Any]:
        return {"name": name, "runs": [{"budget": 1, "outcomes": outcomes}]}

    victims = [victim("a", "o" * 20), victim("b", "x" * 3 + "o" * 17), victim("c", "x" * 12 + "o" * 8)]
    assert shown.ranks(victims, 1) == {"a": 1, "b": 1, "c": 3}
    # The third errs on other rows than the first: the test cannot separate them, but its error is above the second's.
    victims = [
        victim("a", "x" * 10 + "o" * 30), victim("b", "x" * 16 + "o" * 24), victim("c", "o" * 20 + "x" * 17 + "o" * 3)
    ]  # fmt: skip
    assert shown.ranks(victims, 1) == {"a": 1, "b": 2, "c": 2}
