"""Defence tables: errors of every line, and the paper's numbers only where they compare."""

from dataclasses import replace
from typing import Any

from hammingbox.studies.defence_table import DefenceTable
from hammingbox.studies.recipe import defended
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, CountingTrainer, number

TABLE = DefenceTable(name="x", title="x", source="x", sizes={})


def test_errors_of_single_attacks_and_of_all_together(workspace: Workspace, trainer: CountingTrainer) -> None:
    start = replace(QUICK, label="standard")
    quick: dict[str, Any] = {"epochs": 1, "robust_rows": 4}
    size = Size(
        victims=(start, defended("HotFlip", start, "hotflip", budget=1, **quick)),
        rows=6, budgets=(2,), attacks=("ga", "gga", "swap"),
    )  # fmt: skip
    (table,) = TABLE.run(workspace, size).tables
    assert [name.split("-")[2] for name in trainer.trained] == ["standard", "hotflip"]
    errors = {(row[0], row[1]): number(row[2]) for row in table.rows}
    assert len(errors) == 2 * (1 + 3 + 3)
    for recipe in size.victims:
        of = {attack: error for (name, attack), error in errors.items() if name == recipe.name}
        assert of["ga"] >= of["none"]
        found = {attack: workspace.evaluate(recipe, attack, 2, 0, size.rows).rows for attack in size.attacks}
        wrong = {attack: ~rows.correct | rows.success for attack, rows in found.items()}
        assert of["strongest of the paper's"] == max(of["ga"], of["gga"])
        assert of["worst of the paper's"] == 100 * (wrong["ga"] | wrong["gga"]).double().mean().item()
        together = wrong["ga"] | wrong["gga"] | wrong["swap"]
        assert of["worst of all"] == 100 * together.double().mean().item()
    assert set(table.column("paper %")) == set(table.column("diff.")) == {None}, "the paper has no such table"
    assert {run.key.defence.partition("(")[0] for run in workspace.store.runs()} == {"standard", "HotFlipTraining"}


def test_the_papers_strongest_attack_is_chosen_among_those_that_ran(workspace: Workspace) -> None:
    size = Size(victims=(replace(QUICK, label="standard"),), rows=4, budgets=(1,), attacks=("gga", "hotflip", "swap"))
    paper = {"standard": {"none": 5.0, "gga": 60.0, "hotflip": 50.0, "sa": 90.0}}
    (table,) = replace(TABLE, paper=paper, paper_data=("splice",)).run(workspace, size).tables
    papers = dict(zip(table.column("attack"), table.column("paper %"), strict=True))
    assert papers["strongest of the paper's"] == 60.0
    assert papers["worst of the paper's"] is None, "the paper has no union over attacks"
    for error, of_paper, difference in (row[2:3] + row[5:7] for row in table.rows):
        assert difference == (None if of_paper is None else number(error) - number(of_paper))
