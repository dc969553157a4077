"""Grids: a plan lists what a run does, runs are shared and resumed, missing data is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import FullSpace, ThreatModel
from hammingbox.attacks import ATTACKS
from hammingbox.errors import FileError, VictimError
from hammingbox.reproduction.recipes import IPS
from hammingbox.studies.grid import grid_cells, plan_grid, refusals, run_grid
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys import ToyVictim, toy_rows, toy_schema
from toys.studies import QUICK, CountingTrainer, reopened

SIZE = Size(victims=(QUICK, IPS), rows=2, budgets=(1, 4), seeds=2, attacks=("ga", "pcaa", "exhaustive"))


def test_deterministic_attacks_run_with_one_seed(workspace: Workspace) -> None:
    (recipe, reason, cells), (missing, why, none) = grid_cells(workspace, SIZE)
    assert (recipe, reason, missing, none) == (QUICK, "", IPS, [])
    assert "HAMMINGBOX_DATA is not set" in why
    assert [(c.attack, c.budget, len(c.seeds)) for c in cells] == [
        ("ga", 1, 1), ("ga", 4, 1), ("pcaa", 1, 2), ("pcaa", 4, 2), ("exhaustive", 1, 1), ("exhaustive", 4, 1),
    ]  # fmt: skip


def test_the_first_training_of_every_line_comes_first(workspace: Workspace) -> None:
    lines = (replace(QUICK, trainings=3), IPS, replace(QUICK, label="other", train_rows=50, trainings=2))
    walked = [(r.label, r.seed) for r, _, _ in grid_cells(workspace, replace(SIZE, victims=lines))]
    here, skipped = QUICK.label, IPS.label
    assert walked == [(here, 0), (skipped, 0), ("other", 0), (here, 1), ("other", 1), (here, 2)]


def test_attacks_that_are_not_randomised_ignore_the_seed() -> None:
    schema = toy_schema((3, 2, 5, 3, 4, 4))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=20)
    attacks = {name: make() for name, make in ATTACKS.items()}
    for name, attack in attacks.items():
        if not attack.randomised:
            one, two = (attack(victim, x, y, ThreatModel(FullSpace(schema), 2), seed=s) for s in (0, 1))
            assert torch.equal(one.ids, two.ids), name


def test_a_plan_lists_what_a_run_does(workspace: Workspace, trainer: CountingTrainer) -> None:
    planned = plan_grid(workspace, SIZE)
    assert not workspace.store.runs(), "a plan runs nothing"
    assert trainer.trained == []
    by_name = {step.what: step for step in planned}
    training = next(step for name, step in by_name.items() if name.startswith("train"))
    assert training.rows == 2241
    assert training.seconds > 0
    ga = next(step for name, step in by_name.items() if ": ga" in name)
    exact = sum(1 + 60 * 3 + budget * 3 for budget in (1, 4)) * 2
    assert ga.passes == pytest.approx(exact, rel=0.02)  # a clean N leaves four letters to write instead of three
    assert "refuses budget 4" in next(step for name, step in by_name.items() if ": exhaustive" in name).note
    assert sum("skipped" in step.note for step in planned) == 1
    assert sum(step.rows for step in plan_grid(workspace, SIZE)) == 0, "an earlier plan has counted all"

    grid = run_grid(workspace, SIZE)
    assert trainer.trained == [QUICK.folder]
    attacked = {step.what.split(": ")[1].split(" ")[0]: step.rows for step in planned if " at " in step.what}
    for attack, rows in attacked.items():
        assert rows == sum(len(run) for c in grid.cells if c.attack == attack for run in c.runs), attack
    assert refusals(grid.cells) == ("Not run, too many passes per row: exhaustive at budget 4.",)
    assert len(grid.skipped) == 1

    later = reopened(workspace)
    assert sum(step.rows for step in plan_grid(later, SIZE)) == 0, "all is recorded"
    more = replace(SIZE, rows=5)
    assert sum(step.rows for step in plan_grid(reopened(workspace), more)) == 3 * (2 + 2 * 2 + 1)


def test_a_run_that_is_recorded_is_not_repeated(workspace: Workspace) -> None:
    size = replace(SIZE, attacks=("gga", "pcaa"))
    first = run_grid(workspace, size)
    runs = workspace.store.runs()
    assert len(runs) == 2 + 2 * 2
    later = reopened(workspace)
    second = run_grid(later, size)
    assert workspace.store.runs() == runs
    for one, two in zip(first.cells, second.cells, strict=True):
        for a, b in zip(one.runs, two.runs, strict=True):
            assert (a.outcomes, a.forward, a.backward, a.seconds) == (b.outcomes, b.forward, b.backward, b.seconds)


def test_only_missing_data_is_skipped(workspace: Workspace) -> None:
    def full(*_args: object, **_settings: object) -> None:
        raise FileError("no space left on the disk")

    size = Size(victims=(QUICK,), rows=2, budgets=(1,), attacks=("gga",))
    with pytest.raises(FileError, match="no space"):
        run_grid(replace(workspace, train=full), size)


def test_a_line_stands_for_all_of_its_trainings(workspace: Workspace, trainer: CountingTrainer) -> None:
    lines = (replace(QUICK, trainings=2), replace(QUICK, label="again", training={"epochs": 2}))
    size = Size(victims=lines, rows=3, budgets=(1,), attacks=("ga", "gga"), attack_rows={"ga": 2})
    planned = plan_grid(workspace, size)
    assert [step.what.split(" (")[0].split(":")[0] for step in planned] == [
        "train splice, small CNN", *["splice, small CNN"] * 2,
        "train splice, again", *["splice, again"] * 2,
        "train splice, small CNN, training seed 1", *["splice, small CNN, training seed 1"] * 2,
    ]  # fmt: skip
    assert [step.rows for step in planned if "train " not in step.what] == [2, 3] * 3
    grid = run_grid(workspace, size)
    assert trainer.trained == [QUICK.folder, lines[1].folder, QUICK.seeded(1).folder]
    first, second = (grid.of(line) for line in lines)
    assert [(cell.recipe.seed, cell.attack, cell.rows) for cell in first] == [
        (0, "ga", 2), (0, "gga", 3), (1, "ga", 2), (1, "gga", 3),
    ]  # fmt: skip
    assert [len(cell.runs[0]) for cell in first] == [2, 3, 2, 3]
    assert set(first[0].runs[0].numbers.tolist()) < set(first[1].runs[0].numbers.tolist())
    assert {cell.recipe.seed for cell in second} == {0}
    assert grid.of(replace(lines[0])) == [], "a line is found by its recipe in the size"
    assert sum(step.rows for step in plan_grid(reopened(workspace), size)) == 0


def test_a_plan_counts_only_the_rows_that_a_larger_study_adds(workspace: Workspace) -> None:
    size = Size(victims=(QUICK,), rows=3, budgets=(1,), attacks=("gga",))
    plan_grid(workspace, size)
    assert sum(step.rows for step in plan_grid(workspace, replace(size, rows=5))) == 2
    run_grid(workspace, size)
    (left,) = (step for step in plan_grid(reopened(workspace), replace(size, rows=5)) if "gga" in step.what)
    assert left.rows == 2
    assert "3 rows are recorded" in left.note


def test_a_training_that_fails_is_named_and_the_others_run(workspace: Workspace) -> None:
    train = workspace.train

    def diverging(splits: Any, start: Any, config: Any, folder: Path, **settings: Any) -> None:
        if config.seed == 1:
            raise VictimError("expected a finite training loss, got NaN.")
        train(splits, start, config, folder, **settings)

    size = Size(victims=(replace(QUICK, trainings=3),), rows=2, budgets=(1,), attacks=("gga",))
    grid = run_grid(replace(workspace, train=diverging), size)
    assert [cell.recipe.seed for cell in grid.of(size.victims[0])] == [0, 2]
    assert grid.skipped == [
        "splice, small CNN, training seed 1: the training failed: expected a finite training loss, got NaN."
    ]
