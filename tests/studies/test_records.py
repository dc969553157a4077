"""Records: an outcome for every row, row numbers once, and a hash that leaves only times out."""

import json
from dataclasses import replace

from hammingbox.studies.grid import run_grid
from hammingbox.studies.records import Records
from hammingbox.studies.run_facts import outcome_letters
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, reopened

SIZE = Size(
    victims=(replace(QUICK, trainings=2),), rows=6, budgets=(1,), attacks=("gga", "exhaustive"),
    attack_rows={"exhaustive": 3},
)  # fmt: skip


def test_every_row_has_an_outcome(workspace: Workspace) -> None:
    grid = run_grid(workspace, SIZE)
    facts = json.loads(workspace.records.to_json())
    assert len(facts["runs"]) == sum(len(cell.runs) for cell in grid.cells)
    assert {len(numbers.split()) for numbers in facts["row_numbers"].values()} == {6, 3}, "once for all runs"
    by_key = {
        (run["victim"], run["attack"], run["budget"]): run
        for run in facts["runs"]
    }  # fmt: skip
    for cell in grid.cells:
        for seed in cell.seeds:
            run = by_key[cell.recipe.folder, repr(cell.method()), cell.budget]
            rows = workspace.attack(cell.recipe, cell.method(), cell.attack, cell.budget, seed, cell.rows).rows
            assert facts["row_numbers"][run["row_numbers"]].split() == [str(n) for n in rows.numbers.tolist()]
            assert len(run["outcomes"]) == run["rows"] == len(rows)
            assert run["outcomes"].count("w") == run["rows"] - run["correct"]
            assert run["outcomes"].count("x") == run["success"]
            for letter, broken, proven in zip(
                run["outcomes"], rows.success.tolist(), rows.proven.tolist(), strict=True
            ):
                assert (letter == "x") == broken
                assert (letter == "p") == (proven and not broken)
    exhaustive = [run["outcomes"] for run in facts["runs"] if run["attack"].startswith("Exhaustive")]
    assert exhaustive
    assert "o" not in "".join(exhaustive), "a row that enumeration does not break is proven"
    assert set(facts["victims"]) == {QUICK.folder, QUICK.seeded(1).folder}


def test_records_are_the_same_on_every_run(workspace: Workspace) -> None:
    run_grid(workspace, SIZE)
    again = reopened(workspace)
    run_grid(again, SIZE)
    assert again.records.to_json() == workspace.records.to_json()


def test_the_hash_covers_outcomes_and_row_numbers_but_no_times(workspace: Workspace) -> None:
    run_grid(workspace, SIZE)
    whole = workspace.records.sha256

    def changed(**facts: object) -> str:
        key, run = next(iter(workspace.records.runs.items()))
        return Records(workspace.records.runs | {key: run | facts}).sha256

    assert changed(seconds=1e6) == whole
    assert changed(outcomes="wwwwww") != whole
    assert changed(row_numbers="0" * 16) != whole


def test_letters(workspace: Workspace) -> None:
    (cell, *_) = run_grid(workspace, replace(SIZE, attacks=("gga",))).cells
    rows = workspace.attack(cell.recipe, cell.method(), cell.attack, cell.budget, 0, cell.rows).rows
    yes, no = rows.correct | True, rows.correct & False
    assert outcome_letters(replace(rows, correct=no)) == "w" * 6
    assert outcome_letters(replace(rows, correct=yes, success=yes)) == "x" * 6
    assert outcome_letters(replace(rows, correct=yes, success=no, proven=yes)) == "p" * 6
    assert outcome_letters(replace(rows, correct=yes, success=no, proven=no)) == "o" * 6
