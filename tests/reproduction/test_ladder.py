"""The ladder: one change per line, from the paper's form to the default."""

from hammingbox.attacks import PCAA
from hammingbox.reproduction.ladder import LADDER, LADDER_STUDY, settings_of
from hammingbox.reproduction.recipes import IPS
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, number, reopened

SMALL = {"samples": 1, "steps": 2}
SIZE = Size(victims=(QUICK, IPS), rows=3, budgets=(1, 2), attack_settings={"pcaa_paper": SMALL})


def test_the_ladder_goes_from_the_paper_to_the_default_one_change_at_a_time() -> None:
    size = LADDER_STUDY.size("paper")
    attacks = [PCAA.paper(**settings_of(line, size)) for line in range(len(LADDER))]
    assert attacks[0] == PCAA.paper()
    assert attacks[-1] == PCAA()
    assert len(set(map(repr, attacks))) == len(LADDER), "every line changes something"
    for line in LADDER[1:]:
        assert line.changes, line.label


def test_a_table_per_victim_with_every_line_and_budget(workspace: Workspace) -> None:
    work = LADDER_STUDY.plan(workspace, SIZE)
    assert sum(step.passes for step in work) > 0
    assert len([step for step in work if step.what.startswith("train")]) == 1
    assert len([step for step in work if step.note.startswith("skipped")]) == 1
    for line in LADDER:
        assert any(line.label in step.what for step in work)

    outcome = LADDER_STUDY.run(workspace, SIZE)
    (table,) = outcome.tables
    (skipped,) = outcome.skipped
    assert skipped.startswith("ips")
    assert [row[:2] for row in table.rows] == [(line.label, budget) for line in LADDER for budget in SIZE.budgets]
    columns = dict(zip(table.headings, zip(*table.rows, strict=True), strict=True))
    for success, error, passes in zip(columns["success %"], columns["error %"], columns["passes"], strict=True):
        assert 0 <= number(success) <= 100
        assert 0 <= number(error) <= 100
        assert number(passes) >= 0
    assert any("n_g = 1" in note for note in outcome.notes)
    assert LADDER_STUDY.run(reopened(workspace), SIZE).tables == outcome.tables, "a second run reads the records"
