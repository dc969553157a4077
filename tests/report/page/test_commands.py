"""The commands on the page repeat the runs of its store."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox.attacks import ATTACKS
from hammingbox.cli.options import changes_from
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.registry import DATASETS
from hammingbox.evaluation.drawing import Draw, Sample
from hammingbox.evaluation.rates import Rate
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.page.commands import commands, goal_options, space_options
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import Run, RunKey
from hammingbox.running.store.store import space_digest
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.threat.goal import AnyOther, Direction, Goal, Target
from toys.result_folders import TABLE


def test_commands_name_what_the_attacker_may_do() -> None:
    def command(data: str, space: dict[str, Any], attack: str = "GA()") -> str:
        key = RunKey(data, "test", "schema", "space", "goal", "weights", "standard", attack, 2, 1)
        run = Run(1, key, "mine", "runs/a b", "lstm", "today", None, 9, 1.0)
        (line,) = commands([run], {"space": space}, {"kind": "any_other"}, Path("out"))
        return line

    texts = {"kind": "synonym", "source": "near.txt", "protected": ["film"]}
    assert command("imdb", texts) == (
        "hammingbox attack imdb --victim 'runs/a b' --attack mine --budget 2 --split test --seed 1 "
        "--neighbours near.txt --protect film --rows 9 --out out"
    )
    assert "--neighbours" not in command("imdb", {"kind": "synonym", "source": "wordnet"})
    assert "--full-space" in command("splice", {"kind": "full"})
    assert "--full-space" not in command("ips", {"kind": "full"})
    assert "--schema schema.toml" in command("mine.csv", {"kind": "full"})
    mine = {"kind": "masked", "immutable": ["sex", "age"], "forbidden": {"job": ["none", "a b"]}, "kept": {}}
    limits = "--immutable sex --immutable age --forbid job=none --forbid 'job=a b'"
    assert f"--schema schema.toml --full-space {limits}" in command("mine.csv", mine), "as recorded, in their order"
    numbers = mine | {"kind": "table", "options": {}, "steps": {}}
    assert f"--schema schema.toml {limits} --rows" in command("mine.csv", numbers), "a table with numbers"
    own = {"kind": "masked", "immutable": [], "forbidden": {"*": ["N"], "base 3": ["A"]}, "kept": {}}
    assert "--seed 1 --forbid 'base 3=A' --rows" in command("splice", own)
    freed = own | {"forbidden": {"base 3": ["A"]}}
    assert "--seed 1 --full-space --forbid 'base 3=A' --rows" in command("splice", freed)


@pytest.mark.parametrize(
    ("data", "of", "begins"),
    [
        ("mine.csv", "fraud", "hammingbox audit mine.csv"),
        ("mine.csv", "", "hammingbox compare mine.csv"),
        ("splice", "EI", "hammingbox compare splice"),
    ],
)
def test_frozen_columns_are_repeated_too(data: str, of: str, begins: str) -> None:
    sample = Sample(Draw(per_class=9), (30, 10))
    source = DataReference(data, "fraud", sample=sample).to_text()
    key = RunKey(data, "all", "schema", "space", "goal", "weights", "standard", repr(ATTACKS["auto"]()), 2, 1)
    run = Run(1, key, "auto", "m.ubj", "xgboost", "today", None, 9, 1.0, source=source)
    frozen = {"weights": MeasuredWhatIf(of, {2: "auto"}, {2: Rate(1, 9)}, {"age": {2: Rate(0, 9)}})}
    (line,) = commands([run], {"space": {"kind": "full"}}, {"kind": "any_other"}, Path("out"), frozen)
    assert line.startswith(begins)
    assert " --what-if 1 " in line
    assert ("--full-space" in line) == ("compare" in line), "an audit has no such option"
    (without,) = commands([run], {"space": {"kind": "full"}}, {"kind": "any_other"}, Path("out"))
    assert without.startswith("hammingbox compare")
    assert "--what-if" not in without


def test_commands_name_the_threat_and_budgets_in_money() -> None:
    rules: dict[str, Any] = {"unit": {"tick": "0.1", "currency": "EUR"}, "columns": [], "relations": []}
    full = {"kind": "full"}

    def command(rules: Any) -> str:
        key = RunKey("ips", "test", "schema", "space", "goal", "weights", "standard", "GA()", 2, 1)
        run = Run(1, key, "mine", "runs/a", "mlp", "today", None, 9, 1.0)
        space = {"kind": "ruled", "base": full, "rules": rules}
        (line,) = commands([run], {"space": space}, {"kind": "any_other"}, Path("out"))
        return line

    assert "--budget 0.2 " in command(rules)
    assert "--threat threat.toml" in command(rules)
    assert "--plausible" not in command(rules)
    seen = {"kind": "seen_together", "name": "--plausible"}
    both, alone = command(rules | {"relations": [seen]}), command({"unit": None, "relations": [seen]})
    assert "--threat threat.toml --plausible" in both
    assert "--budget 2 " in alone
    assert "--plausible" in alone
    assert "--threat" not in alone
    own = {"kind": "function", "name": "mine", "function": "my_rules:holds"}
    assert "--threat threat.toml --function my_rules:holds" in command({"relations": [own]})
    assert "--budget 2 " in command({"unit": {"tick": "nothing"}}), "a damaged unit"
    assert "--threat" not in command(None)


def test_the_command_of_an_own_file_gives_its_space_again() -> None:
    rows = Dataset(TABLE, torch.zeros(1, 5, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    source = replace(DATASETS["splice"], immutable=("f3", "f0"), forbidden={"f2": ["c4", "c1"]})
    task = Task("mine.csv", source, Splits(rows, rows, rows))
    space = task.space(SpaceChanges(immutable=["f1"], forbidden={"f4": ["c3"], "f2": ["c0"]}))
    key = RunKey("mine.csv", "test", "schema", space_digest(space), "goal", "weights", "standard", "GA()", 2, 0)
    run = Run(1, key, "ga", "", "mlp", "today", None, 9, 1.0)
    words = space_options(run, {key.space_sha256: space.to_json()})
    given = {name: [b for a, b in pairwise(words) if a == name] for name in ("--immutable", "--forbid")}
    again = task.space(changes_from(given["--immutable"], given["--forbid"], "--full-space" in words, None, None))
    assert space_digest(again) == key.space_sha256


@pytest.mark.parametrize(
    ("goal", "options"),
    [
        (AnyOther(), []),
        (Target("a b"), ["--to", "a b"]),
        (Direction("fraud"), ["--from", "fraud"]),
        (Direction("fraud", "ok"), ["--from", "fraud", "--to", "ok"]),
        (Target("a") | Target("b"), ["--to", "a", "--to", "b"]),
        (Direction("a", "c") | Direction("b", "c"), ["--from", "a", "--from", "b", "--to", "c"]),
        (Direction("a", "b") | Direction("b", "c"), []),
        (Target("a") & Direction("b"), []),
    ],
    ids=repr,
)
def test_options_give_the_goal_again_or_are_left_out(goal: Goal, options: list[str]) -> None:
    assert goal_options(goal.to_json()) == options


@pytest.mark.parametrize(("data", "place"), [("table", "m.ubj"), ("mine.csv", ""), ("table", "")])
def test_runs_from_python_have_no_command(data: str, place: str) -> None:
    """Nothing on a command line names a model or a frame that only a Python process had."""
    key = RunKey(data, "all", "schema", "space", "goal", "weights", "standard", repr(ATTACKS["auto"]()), 2, 1)
    runs = [Run(i, key, "auto", place, "forest", "today", None, 9, 1.0) for i in (1, 2)]
    found = commands(runs, {"space": {"kind": "full"}}, {"kind": "any_other"}, Path("out"))
    assert found == ["# made in Python from an object or a frame: call hb.audit again"]
