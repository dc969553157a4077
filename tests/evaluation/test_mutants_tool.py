"""`tools/mutants.py`: which faults there are, which tests are chosen for one, and what is kept of a run."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from toys.tools import load_tool

TOOL: Any = load_tool("mutants")  # puts its folder on the path
FAULTS: Any = import_module("mutation.faults")
REACH: Any = import_module("mutation.reach")
VERDICTS: Any = import_module("mutation.verdicts")
FILE = "evaluation/verify_proofs.py"
ROOT = Path(__file__).parents[2]


def test_a_fault_is_one_change() -> None:
    faults = FAULTS.mutants_of(FILE)
    assert [fault.name for fault in faults if "256" in fault.what] == [f"{FILE} module: 256 to 257"]
    assert any(fault.function == "refuted" and "not dropped" in fault.what for fault in faults)
    texts = {ast.unparse(FAULTS.mutated(fault)) for fault in faults}
    assert len(texts) == len(faults), "each is another one"


def test_a_draw_has_a_share_of_every_file_and_is_repeated_by_its_seed() -> None:
    faults = [*FAULTS.mutants_of(FILE), *FAULTS.mutants_of("threat/goal.py")]
    drawn = FAULTS.spread_sample(faults, 10, 3)
    assert drawn == FAULTS.spread_sample(faults, 10, 3)
    assert {fault.file for fault in drawn} == {FILE, "threat/goal.py"}
    assert drawn != FAULTS.spread_sample(faults, 10, 4)


def test_the_tests_that_run_a_line_are_chosen(tmp_path: Path) -> None:
    own, other = "tests/evaluation/test_proofs.py", "tests/threat/test_goal.py"
    records = REACH.ReachRecords(tmp_path)
    name, start, end = next(place for place in REACH.functions_of(FILE) if place[0] == "refuted")
    for file, tests in ((own, {"a[1]": 1.0, "a[2]": 1.0, "b": 0.5, "slow": 99.0}), (other, {"c": 0.1})):
        seconds = {f"{file}::{test}": cost for test, cost in tests.items()}
        places = {FILE: {name: {"12": list(seconds)}}}
        texts = {FILE: REACH.texts_of(FILE)}
        records.write(file, REACH.Reach(REACH.digest_of(ROOT / file), seconds, places, {}, texts))
    fault = FAULTS.Mutant(FILE, 0, start + 13, "x", name, start)
    assert start + 13 <= end
    assert records.tests_for(fault, [own, other]) == [f"{other}::c", f"{own}::b", f"{own}::a[1]", f"{own}::a[2]"]
    before = FAULTS.Mutant(FILE, 0, start + 2, "x", name, start)
    assert records.tests_for(before, [own, other]) == [], "no test runs it"
    records.get(own).functions[FILE][name] = "another text"
    assert records.tests_for(before, [own, other]) == [f"{own}::b", f"{own}::a[1]", f"{own}::a[2]"], "it changed since"
    records.get(own).functions[FILE] = {}
    assert len(records.tests_for(before, [own, other])) == 3, "it is new"
    outside = FAULTS.Mutant(FILE, 0, 1, "x", "", 0)
    assert len(records.tests_for(outside, [own, other])) == 4, "whatever runs a function of the module"
    records.write(own, REACH.Reach("of another content", {}, {}, {}))
    stale = REACH.ReachRecords(tmp_path)
    assert stale.get(own) is None
    records.write(own, REACH.Reach(REACH.digest_of(ROOT / own), {"a": 1.0}, {}, {}))
    assert stale.get(own) is not None, "it was recorded again meanwhile"


def test_verdicts_are_kept(tmp_path: Path) -> None:
    first, second = FAULTS.mutants_of(FILE)[:2]
    verdicts = VERDICTS.Verdicts(tmp_path / "verdicts.jsonl")
    tests = ["tests/evaluation/test_proofs.py::a", "tests/threat/test_goal.py::b"]
    verdicts.add(first, "", tests, 1.0)
    verdicts.add(second, "test x", tests, 1.0)
    again = VERDICTS.Verdicts(tmp_path / "verdicts.jsonl")
    assert again.survivors([first, second]) == [first]
    assert again.holds(first, tests)
    assert not again.holds(first, tests[:1]), "a survivor is tried again with other tests"
    assert again.holds(second, tests[:1])
    again.add(first, "test y", tests, 1.0)
    assert VERDICTS.Verdicts(tmp_path / "verdicts.jsonl").survivors([first, second]) == []


def test_faults_that_read_alike_have_names_of_their_own() -> None:
    faults = FAULTS.mutants_of("threat/rules/calendar.py")
    names = [fault.name for fault in faults]
    assert len(set(names)) == len(names)
    assert any(name.endswith("(2)") for name in names)


def test_only_the_first_table_of_the_list_is_left_out_of_the_score() -> None:
    text = "| `a.py f: x | y` | why |\n\n## Others\n\n| `b.py g: 1 to 2` | a race |\n"
    assert TOOL.listed_survivors(text) == ({"a.py f: x | y"}, {"b.py g: 1 to 2"})
    equivalent, other = TOOL.listed_survivors(TOOL.SURVIVORS.read_text())
    every = {fault.name for file in TOOL.judging_files() for fault in FAULTS.mutants_of(file)}
    assert equivalent | other <= every, "what is listed is there"
    assert not equivalent & other


def test_recorded_times_are_added_up(tmp_path: Path) -> None:
    file = "tests/threat/test_goal.py"
    records = REACH.ReachRecords(tmp_path)
    records.write(file, REACH.Reach(REACH.digest_of(ROOT / file), {f"{file}::a": 1.5, f"{file}::b": 2.0}, {}, {}))
    assert records.seconds_of([f"{file}::a", f"{file}::b", "tests/threat/test_space.py::c"]) == 3.5
