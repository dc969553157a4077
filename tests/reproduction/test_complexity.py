"""Costs: what the meter counts is what the formulas say."""

from hammingbox.reproduction.complexity import AXES, COMPLEXITY, METHODS, POINTS
from hammingbox.running.verify_store import verify_store
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import number


def test_measured_passes_equal_the_formulas(workspace: Workspace) -> None:
    growth_table, passes_table = COMPLEXITY.run(workspace, Size(rows=2)).tables
    assert len(passes_table.rows) == len(METHODS) * len(POINTS)
    for row in passes_table.rows:
        assert row[4] == row[5], row
    assert passes_table.notes == (f"In 0 of {len(passes_table.rows)} lines the count differs from the formula.",)
    assert len(growth_table.rows) == len(METHODS) * len(AXES)
    assert growth_table.column("k") == growth_table.column("k by formula")
    growth = {(row[0], row[3]): number(row[4]) for row in growth_table.rows}
    assert growth["pcaa", "n^k"] == 0
    assert growth["pcaa", "k^ε"] == 1
    assert growth["gsa", "n^k"] == 0
    assert growth["gsa", "k^ε"] > 3  # d = 4, and a constant of 3 passes
    checked = verify_store(workspace.folder)
    assert checked.ok, checked.problems[:3]
    assert checked.rows == 2 * len(METHODS) * len(POINTS), "its random rows are found again"
