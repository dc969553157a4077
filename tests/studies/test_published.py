"""Published records: runs that stand there are neither run nor trained again, and a time limit leaves the rest."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from time import monotonic

import pytest

from hammingbox.errors import FileError
from hammingbox.studies.grid import plan_grid, run_grid
from hammingbox.studies.line_errors import WORST, line_errors
from hammingbox.studies.published import RECORDS, Published
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, CountingTrainer, reopened

SIZE = Size(victims=(replace(QUICK, trainings=2),), rows=6, budgets=(1,), attacks=("gga", "ga"))
NOBODY_WAITS = -1.0


def publish(workspace: Workspace, folder: Path) -> Published:
    (folder / "study").mkdir(parents=True, exist_ok=True)
    (folder / "study" / RECORDS).write_text(workspace.records.to_json())
    return Published.read(folder)


def elsewhere(
    workspace: Workspace, trainer: CountingTrainer, folder: Path, published: Published, deadline: float | None = None
) -> Workspace:
    """Another machine: the same code, no victims and no runs."""
    trainer.trained.clear()
    return Workspace(folder, workspace.store, train=trainer, published=published, deadline=deadline)


def test_a_table_can_be_made_from_published_records_alone(
    workspace: Workspace, trainer: CountingTrainer, tmp_path: Path
) -> None:
    here = run_grid(workspace, SIZE)
    published = publish(workspace, tmp_path / "published")
    runs = workspace.store.runs()
    other = elsewhere(workspace, trainer, tmp_path / "other", published)
    assert plan_grid(other, SIZE) == []
    there = run_grid(other, SIZE)
    assert trainer.trained == []
    assert workspace.store.runs() == runs
    assert there.trainings == here.trainings
    for one, two in zip(here.cells, there.cells, strict=True):
        assert [run.outcomes for run in one.runs] == [run.outcomes for run in two.runs]
        assert [run.forward for run in one.runs] == [run.forward for run in two.runs]
    assert other.records.to_json() == workspace.records.to_json(), "they can be published again"


def test_what_is_not_published_is_run(workspace: Workspace, trainer: CountingTrainer, tmp_path: Path) -> None:
    run_grid(workspace, replace(SIZE, attacks=("gga",)))
    published = publish(workspace, tmp_path / "published")
    other = elsewhere(workspace, trainer, tmp_path / "other", published)
    assert {step.what.split(": ")[-1].split(" ")[0] for step in plan_grid(other, SIZE)} >= {"ga"}
    grid = run_grid(other, SIZE)
    assert [cell.attack for cell in grid.cells] == ["gga", "ga"] * 2
    assert trainer.trained == [QUICK.folder, QUICK.seeded(1).folder], "the second attack needs the weights"
    other = elsewhere(workspace, trainer, tmp_path / "third", published)
    run_grid(other, replace(SIZE, attacks=("gga",), rows=5))
    assert trainer.trained, "other rows are another run"


def test_an_attack_that_refuses_needs_no_weights(
    workspace: Workspace, trainer: CountingTrainer, tmp_path: Path
) -> None:
    run_grid(workspace, replace(SIZE, attacks=("gga",), budgets=(4,)))
    other = elsewhere(workspace, trainer, tmp_path / "other", publish(workspace, tmp_path / "published"))
    grid = run_grid(other, replace(SIZE, attacks=("gga", "exhaustive"), budgets=(4,)))
    assert trainer.trained == []
    assert [(cell.attack, bool(cell.refused), len(cell.runs)) for cell in grid.cells] == [
        ("gga", False, 1),
        ("exhaustive", True, 0),
    ] * 2


def test_after_the_deadline_only_what_is_there_is_read(
    workspace: Workspace, trainer: CountingTrainer, tmp_path: Path
) -> None:
    late = monotonic() + NOBODY_WAITS
    nothing = run_grid(replace(workspace, deadline=late), SIZE)
    assert trainer.trained == []
    assert nothing.cells == []
    assert len(nothing.skipped) == 2
    assert all("not run yet" in reason for reason in nothing.skipped)
    run_grid(workspace, replace(SIZE, attacks=("gga",)))
    some = run_grid(replace(workspace, deadline=late), SIZE)
    assert [cell.attack for cell in some.cells] == ["gga", "gga"]
    assert [reason.split(": ")[1] for reason in some.skipped] == ["ga at budget 1"] * 2
    refused = run_grid(replace(workspace, deadline=late), replace(SIZE, attacks=("exhaustive",), budgets=(1, 4)))
    assert [(cell.attack, cell.budget) for cell in refused.cells if cell.refused] == [("exhaustive", 4)] * 2
    assert [reason.split(": ")[1] for reason in refused.skipped] == ["exhaustive at budget 1"] * 2
    published = publish(workspace, tmp_path / "published")
    other = elsewhere(workspace, trainer, tmp_path / "other", published, late)
    some = run_grid(other, SIZE)
    assert [cell.attack for cell in some.cells] == ["gga", "gga"]
    assert trainer.trained == []


def test_unions_are_over_the_trainings_that_all_attacks_have(workspace: Workspace) -> None:
    cells = run_grid(workspace, SIZE).cells
    worst = line_errors([cell for cell in cells if (cell.attack, cell.recipe.seed) != ("ga", 1)], WORST)
    whole = line_errors(cells, WORST)
    assert worst is not None
    assert whole is not None
    assert worst.trainings == (0,)
    assert (worst.wrong == whole.wrong[:1]).all()


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts: facts.pop("victims"),
        lambda facts: facts["victims"].popitem(),
        lambda facts: facts["runs"][0].update(outcomes="x"),
        lambda facts: facts["runs"][0].update(outcomes="?" * 6),
        lambda facts: facts["runs"][0].update(row_numbers="unknown"),
        lambda facts: facts["runs"][0].pop("attack"),
        lambda facts: facts.update(runs=3),
    ],
)
def test_damaged_records_are_one_sentence(workspace: Workspace, tmp_path: Path, damage: object) -> None:
    run_grid(workspace, replace(SIZE, attacks=("gga",)))
    facts = json.loads(workspace.records.to_json())
    assert callable(damage)
    damage(facts)
    (tmp_path / "bad" / "study").mkdir(parents=True)
    (tmp_path / "bad" / "study" / RECORDS).write_text(json.dumps(facts))
    with pytest.raises(FileError, match="expected the records of a study"):
        Published.read(tmp_path / "bad")


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected records"):
        Published.read(tmp_path)
    with pytest.raises(FileError, match="expected records"):
        Published.read(tmp_path / "missing")


def test_records_of_versions_without_outcomes_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / RECORDS).write_text(json.dumps({"runs": [{"victim": "a"}], "victims": {}}))
    assert Published.read(tmp_path).runs == {}


def test_a_folder_that_has_moved_is_read(workspace: Workspace, tmp_path: Path) -> None:
    size = replace(SIZE, attacks=("gga",))
    run_grid(workspace, size)
    moved = copytree(workspace.folder, tmp_path / "moved")
    again = run_grid(replace(reopened(workspace), folder=moved, deadline=monotonic() + NOBODY_WAITS), size)
    assert [cell.attack for cell in again.cells] == ["gga", "gga"]
    assert again.skipped == []
