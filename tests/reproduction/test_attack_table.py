"""The attack table: our numbers beside the paper's, and the figures drawn from the same runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from hammingbox.errors import InputError
from hammingbox.report.artefacts.table import Interval, Table, Value
from hammingbox.reproduction.attack_table import ATTACK_TABLE, PAPER, SIZES, AttackTableSize
from hammingbox.reproduction.recipes import IPS, SPLICE_PAPER
from hammingbox.reproduction.trade_off import TRADE_OFF
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.real_data import DATA, needs
from toys.released import write_splice_paper
from toys.studies import QUICK, number, reopened

SIZE = Size(victims=(QUICK, IPS), rows=4, budgets=(1, 4), seeds=2, attacks=("ga", "pcaa", "exhaustive"))


def by_cell(table: Table) -> dict[tuple[Value, Value], dict[str, Value]]:
    """The rows of a table by attack and budget."""
    return {(row[0], row[1]): dict(zip(table.headings, row, strict=True)) for row in table.rows}


def test_attack_table_measures_and_resumes(workspace: Workspace) -> None:
    first = ATTACK_TABLE.run(workspace, SIZE)
    table, orders = first.tables
    assert len(table.rows) == 6
    assert [row[:4] for row in orders.rows] == [("pcaa", "ga", 1, 4), ("pcaa", "ga", 4, 4)]
    assert any(line.startswith("ips") and "HAMMINGBOX_DATA is not set" in line for line in first.skipped)
    lines = by_cell(table)
    ga = lines["ga", 1]
    assert (ga["paper %"], ga["paper s"], ga["diff."]) == (None, None, None), "the paper has another Splice victim"
    assert any("no numbers for this victim" in note for note in table.notes)
    assert isinstance(ga["± rows"], Interval)
    assert ga["± rows"].low <= number(ga["error %"]) <= ga["± rows"].high
    assert ga["± seeds"] is None, "one seed, no interval over seeds"
    assert lines["pcaa", 4]["± seeds"] is not None
    assert lines["exhaustive", 4]["error %"] is None
    assert any("exhaustive at budget 4" in note for note in table.notes)
    runs = workspace.store.runs()
    assert len([run for run in runs if run.rows]) == 2 + 2 * 2 + 1

    again = reopened(workspace)
    assert ATTACK_TABLE.run(again, SIZE).tables == first.tables
    shared = TRADE_OFF.run(again, SIZE)
    assert [run.seconds for run in workspace.store.runs()] == [run.seconds for run in runs], "the same runs"
    assert set(shared.figures) == {"splice-budget1", "splice-budget4"}
    (bars,) = shared.tables
    unbroken = {(row[1], row[2]): row[3] for row in bars.rows}
    assert unbroken["ga", 1] == pytest.approx(100 - number(lines["ga", 1]["error %"]))
    assert ("exhaustive", 4) not in unbroken


def test_the_papers_pcaa_comes_after_all_other_attacks_on_all_victims(workspace: Workspace) -> None:
    size = replace(SIZE, victims=(QUICK, replace(QUICK, label="another")), attacks=("pcaa_paper", "ga"))
    attacked = [step.what for step in ATTACK_TABLE.plan(workspace, size) if not step.what.startswith("train")]
    assert [" pcaa_paper " in what for what in attacked] == [False, False, True, True]


def test_the_papers_figure_stands_beside_the_error_of_the_authors_victim(workspace: Workspace, tmp_path: Path) -> None:
    workspace.data_dir = write_splice_paper(tmp_path / "data", rows=24)
    attacks = ("ga", "gga", "gga_released", "auto")
    size = AttackTableSize(
        victims=(SPLICE_PAPER,), rows=24, budgets=(1, 2), attacks=attacks, victim_rows={"splice_paper": {"ga": 5}}
    )
    (table,) = ATTACK_TABLE.run(workspace, size).tables
    lines = by_cell(table)
    gga, paper = lines["gga", 1], PAPER["splice_paper"]["gga"][0]
    assert paper is not None
    assert (gga["paper %"], gga["paper s"]) == paper
    assert gga["diff."] == pytest.approx(number(gga["error %"]) - paper[0])
    assert lines["gga_released", 2]["paper %"] == lines["gga", 2]["paper %"] == 65.26
    assert lines["auto", 1]["paper %"] is None
    assert [lines[attack, 1]["rows"] for attack in attacks] == [5, 24, 24, 24]

    # Random weights get most rows wrong before, and some rows are not broken: the two rates differ.
    checkpoint = workspace.checkpoint(SPLICE_PAPER)
    data = workspace.rows(SPLICE_PAPER, 24)
    right = int((checkpoint.victim(data.ids).argmax(1) == data.labels).sum())
    broken = round(number(gga["success %"]) * right / 100)
    assert 0 < broken < right < 24
    assert number(gga["success %"]) == pytest.approx(100 * broken / right)
    assert number(gga["error %"]) == pytest.approx(100 * (24 - right + broken) / 24)
    assert f"{right} of 24 clean rows" in table.title
    assert checkpoint.training["data"] == "splice_paper"
    assert checkpoint.training["test_accuracy"] == right / 24, "a released victim has a whole record"


def test_a_victim_without_a_whole_record_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    workspace.data_dir = write_splice_paper(tmp_path / "data")
    workspace.untrained(SPLICE_PAPER).save(workspace.path(SPLICE_PAPER))  # its record names the file only
    with pytest.raises(InputError, match=r"expected the whole record of a training in .* without data, data_sha256"):
        workspace.checkpoint(SPLICE_PAPER)


def test_plans_count_the_rows_of_each_attack(workspace: Workspace, tmp_path: Path) -> None:
    workspace.data_dir = write_splice_paper(tmp_path / "data", rows=12)
    size = AttackTableSize(
        victims=(SPLICE_PAPER, QUICK), rows=10, budgets=(1,), attacks=("ga", "gga"), attack_rows={"gga": 6},
        victim_rows={"splice_paper": {"ga": 3}},
    )  # fmt: skip
    rows = {step.what.split(" at ")[0]: step.rows for step in ATTACK_TABLE.plan(workspace, size)}
    assert rows["splice_paper, the authors' LSTM: ga"] == 3
    assert rows["splice_paper, the authors' LSTM: gga"] == 6
    assert rows["splice, small CNN: ga"] == 10
    assert rows["splice, small CNN: gga"] == 6


def test_settings_that_are_not_those_of_the_name_are_told(workspace: Workspace) -> None:
    size = replace(SIZE, victims=(QUICK,), attacks=("sa",), attack_settings={"sa": {"max_passes": 30_000}})
    (table,) = ATTACK_TABLE.run(workspace, size).tables
    assert "sa runs with max_passes = 30,000." in table.notes


def test_search_on_the_authors_splice_victim_fits_its_limits() -> None:
    """5^5 combinations of five features: SA refuses no budget of the table."""
    for size in SIZES.values():
        limit = size.attack_settings.get("sa", {}).get("max_passes", 20_000)
        assert 5 ** max(size.budgets) <= limit


@needs("splice/splice_test.csv")
@needs("splice/victim.safetensors")
def test_the_authors_victim_has_the_papers_error_at_budget_1(workspace: Workspace) -> None:
    """On the first rows: all of them, at all budgets, are the table itself."""
    workspace.data_dir = DATA
    size = Size(victims=(SPLICE_PAPER,), rows=20, budgets=(1,), attacks=("ga", "sa"))
    lines = by_cell(ATTACK_TABLE.run(workspace, size).tables[0])
    assert lines["ga", 1]["error %"] == lines["sa", 1]["error %"]
    assert 50 <= number(lines["ga", 1]["error %"]) <= 95
