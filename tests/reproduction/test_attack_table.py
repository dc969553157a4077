"""The attack table: our numbers beside the paper's, and the figures drawn from the same runs."""

import pytest

from hammingbox.report.artefacts.table import Interval
from hammingbox.reproduction.attack_table import ATTACK_TABLE, PAPER
from hammingbox.reproduction.recipes import IPS
from hammingbox.reproduction.trade_off import TRADE_OFF
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, number, reopened

SIZE = Size(victims=(QUICK, IPS), rows=4, budgets=(1, 4), seeds=2, attacks=("ga", "pcaa", "exhaustive"))


def test_attack_table_compares_and_resumes(workspace: Workspace) -> None:
    first = ATTACK_TABLE.run(workspace, SIZE)
    (table,) = first.tables
    assert len(table.rows) == 6
    assert any(line.startswith("ips") and "HAMMINGBOX_DATA is not set" in line for line in first.skipped)
    lines = {(row[0], row[1]): dict(zip(table.headings, row, strict=True)) for row in table.rows}
    ga, paper = lines["ga", 1], PAPER["splice"]["ga"][0]
    assert paper is not None
    assert (ga["paper %"], ga["paper s"]) == paper
    assert ga["diff."] == pytest.approx(number(ga["success %"]) - paper[0])
    assert isinstance(ga["± rows"], Interval)
    assert ga["± rows"].low <= number(ga["success %"]) <= ga["± rows"].high
    assert ga["± seeds"] is None, "one seed, no interval over seeds"
    assert lines["pcaa", 4]["± seeds"] is not None
    assert lines["exhaustive", 4]["success %"] is None
    assert any("exhaustive at budget 4" in note for note in table.notes)
    runs = workspace.store.runs()
    assert len([run for run in runs if run.rows]) == 2 + 2 * 2 + 1

    again = reopened(workspace)
    assert ATTACK_TABLE.run(again, SIZE).tables == first.tables
    shared = TRADE_OFF.run(again, SIZE)
    assert [run.seconds for run in workspace.store.runs()] == [run.seconds for run in runs], "the same runs"
    assert set(shared.figures) == {"splice-budget1", "splice-budget4"}
    (bars,) = shared.tables
    success = {(row[1], row[2]): row[3] for row in bars.rows}
    assert success["ga", 1] == pytest.approx(100 - number(lines["ga", 1]["success %"]))
    assert ("exhaustive", 4) not in success
