"""Which rows are wrong: single attacks, unions over attacks of all trainings, and attacks on fewer rows."""

from dataclasses import replace

import numpy as np
import pytest

from hammingbox.studies.grid import GridCell, run_grid
from hammingbox.studies.line_errors import (
    CLEAN,
    STRONGEST,
    WORST,
    WORST_OF_PAPER,
    WORST_ON_ALL_ROWS,
    LineErrors,
    differ_in_rows,
    line_errors,
    paired,
)
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.line_errors import wrong_rows
from toys.studies import QUICK


@pytest.fixture
def cells(workspace: Workspace) -> list[GridCell]:
    """Two trainings; GA on 5 of 12 rows, PCAA with two seeds, and an attack that the paper does not have."""
    size = Size(
        victims=(replace(QUICK, trainings=2),), rows=12, budgets=(1,), seeds=2, attacks=("ga", "gga", "pcaa", "swap"),
        attack_rows={"ga": 5}, attack_settings={"pcaa": {"steps": 4, "samples": 2, "zetas": (1.0,)}},
    )  # fmt: skip
    return run_grid(workspace, size).cells


def found(cells: list[GridCell], attack: str) -> LineErrors:
    errors = line_errors(cells, attack)
    assert errors is not None
    return errors


def recorded(cells: list[GridCell], training: int, attack: str, seed: int = 0) -> dict[int, bool]:
    """Wrong rows by number, straight from the run."""
    (cell,) = (c for c in cells if (c.recipe.seed, c.attack) == (training, attack))
    run = cell.runs[seed]
    return dict(zip(run.numbers.tolist(), (letter in "wx" for letter in run.outcomes), strict=True))


def test_errors_of_one_attack(cells: list[GridCell]) -> None:
    pcaa = found(cells, "pcaa")
    assert (pcaa.trainings, pcaa.wrong.shape) == ((0, 1), (2, 2, 12))
    for training in (0, 1):
        for seed in (0, 1):
            here = dict(zip(pcaa.numbers.tolist(), pcaa.wrong[training, seed].tolist(), strict=True))
            assert here == recorded(cells, training, "pcaa", seed)
    assert found(cells, "ga").wrong.shape == (2, 1, 5)
    assert [rate.rows for rate in pcaa.rates] == [12] * 4
    assert pcaa.of_trainings == pytest.approx([pcaa.wrong[k].mean() for k in (0, 1)])
    assert pcaa.of_seeds == pytest.approx([pcaa.wrong[:, s].mean() for s in (0, 1)])
    clean = found(cells, CLEAN)
    assert clean.wrong.shape == (2, 1, 12), "on the most rows, once"
    assert (clean.wrong <= pcaa.wrong).all()
    assert line_errors(cells, "hotflip") is None
    assert line_errors([], CLEAN) is None


def test_unions_are_over_the_rows_that_all_attacks_share(cells: list[GridCell]) -> None:
    assert differ_in_rows(cells)
    shared = sorted(found(cells, "ga").numbers.tolist())
    worst = found(cells, WORST)
    assert worst.numbers.tolist() == shared
    for training in (0, 1):
        runs = [("ga", 0), ("gga", 0), ("pcaa", 0), ("pcaa", 1), ("swap", 0), ("swap", 1)]
        by_number = [recorded(cells, training, attack, seed) for attack, seed in runs]
        assert worst.wrong[training, 0].tolist() == [any(run[n] for run in by_number) for n in shared]
        of_paper = found(cells, WORST_OF_PAPER).wrong[training, 0].tolist()
        assert of_paper == [any(run[n] for run in by_number[:4]) for n in shared]
        everywhere = found(cells, WORST_ON_ALL_ROWS)
        assert everywhere.wrong[training, 0].tolist() == [
            any(run[n] for run in by_number[1:]) for n in everywhere.numbers.tolist()
        ]
    same_rows = [cell for cell in cells if cell.attack != "ga"]
    assert not differ_in_rows(same_rows)
    assert len(found(same_rows, WORST).numbers) == 12


def test_the_strongest_attack_is_chosen_on_shared_rows_and_shown_on_its_own(cells: list[GridCell]) -> None:
    strongest = found(cells, STRONGEST)
    shared = found(cells, "ga").numbers
    means = {name: found(cells, name).on_rows(shared).wrong.mean() for name in ("ga", "gga", "pcaa")}
    best = max(means, key=lambda name: float(means[name]))
    assert (strongest.wrong == found(cells, best).wrong).all(), "not swap, which the paper does not have"
    assert line_errors([cell for cell in cells if cell.attack == "swap"], STRONGEST) is None


def test_lines_are_paired_on_what_both_have() -> None:
    one = replace(wrong_rows([[1, 0, 1]], [[0, 0, 1]], [[1, 1, 1]], numbers=[4, 5, 6]), trainings=(0, 1, 2))
    two = replace(wrong_rows([[0, 1]], [[1, 0]], numbers=[6, 5]), trainings=(2, 0))
    both = paired(one, two)
    assert both is not None
    first, second = both
    assert first.trainings == second.trainings == (0, 2)
    assert first.numbers.tolist() == second.numbers.tolist()
    assert first.wrong[:, 0].tolist() == [[False, True], [True, True]]
    assert second.wrong[:, 0].tolist() == [[False, True], [True, False]]
    assert paired(one, replace(two, trainings=(7, 8))) is None
    assert paired(one, two.on_rows(np.array([99]))) is None
