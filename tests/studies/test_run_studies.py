"""Running a list of studies: files and records of each, a plan that leaves nothing behind."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from hammingbox.errors import InputError
from hammingbox.report.artefacts.table import Column, Table
from hammingbox.studies.grid import plan_grid, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.run_studies import plan_studies, run_studies
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK


@dataclass(frozen=True, kw_only=True)
class Broken(Study):
    """How many rows an attack breaks."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        return plan_grid(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        grid = run_grid(workspace, size)
        rows = tuple((cell.attack, cell.runs[0].success_rate.hits) for cell in grid.cells)
        return Outcome(tables=[Table(self.title, (Column.text("attack"), Column.number("broken")), rows)])


def study(name: str, *attacks: str) -> Study:
    size = Size(victims=(QUICK,), rows=3, budgets=(1,), attacks=attacks)
    return Broken(name=name, title=f"Study {name}", source="Table 9", sizes={"smoke": size})


def test_studies_are_written_and_share_their_runs(tmp_path: Path) -> None:
    studies = [study("one", "ga", "gga"), study("two", "gga")]
    started: list[Study] = []
    finished = list(run_studies(studies, "smoke", tmp_path, on_start=started.append))
    assert started == studies
    assert [done.study for done in finished] == studies
    for done, runs in zip(finished, (2, 1), strict=True):
        assert done.folder == tmp_path / done.study.name
        assert {path.name for path in done.files} == {"README.md", "table-1.tex", "table-1.csv", "records.json"}
        records = json.loads((done.folder / "records.json").read_text())
        assert len(records["runs"]) == runs
        page = (done.folder / "README.md").read_text()
        assert page.startswith(f"# Study {done.study.name} (Table 9 of the paper), preset smoke\n")
        assert f"`hammingbox reproduce {done.study.name} --preset smoke`" in page
        assert records["sha256"] in page
    one, two = (json.loads((done.folder / "records.json").read_text())["runs"] for done in finished)
    assert two[0] in one, "the same run, not another one"


def test_a_plan_leaves_nothing_behind_and_counts_shared_work_once(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    (_, one), (_, two) = plan_studies([study("one", "ga", "gga"), study("two", "gga")], "smoke", folder)
    assert sum(work.rows for work in one if "train" not in work.what) == 6
    assert sum(work.rows for work in two) == 0
    assert not folder.exists()
    list(run_studies([study("one", "ga")], "smoke", folder))
    ((_, left),) = plan_studies([study("one", "ga", "gga")], "smoke", folder)
    assert [work.rows for work in left] == [0, 3]


def test_an_unknown_preset_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    for walk in (plan_studies, run_studies):
        with pytest.raises(InputError, match="known preset"):
            list(walk([study("one", "ga")], "gpu", folder))
    assert not folder.exists()
