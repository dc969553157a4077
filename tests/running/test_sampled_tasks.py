"""Rows that a task draws from a table are a fair sample, whatever the split and the draw have in common."""

import pytest
import torch

from hammingbox import DATASETS
from hammingbox.data.table import load_table
from hammingbox.evaluation.drawing import Draw
from hammingbox.running.tasks import Task

ROWS = 2000
FRAME = {"place": [str(i) for i in range(ROWS)], "label": ["a" if i % 10 else "b" for i in range(ROWS)]}


@pytest.fixture(scope="module")
def task() -> Task:
    splits = load_table(FRAME, label="label").splits
    return Task("table", DATASETS["splice"], splits)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("draw", [{"per_class": 150}, {"rows": 300}, {"rows": 300, "how": "random"}])
@pytest.mark.parametrize("split", ["all", "train", "test"])
def test_drawn_rows_are_not_those_that_come_first_when_rows_are_sorted(
    split: str, draw: dict[str, object], seed: int, task: Task
) -> None:
    """The split numbers rows in sorted order and shuffles these numbers by a seed, which is 0 like that of a draw."""
    rows, reference = task.sample(split, Draw(**draw, seed=seed))  # type: ignore[arg-type]
    assert reference.sample is not None
    places = task.splits.schema.features[0].numbers[rows.ids[:, 0]]
    mean, whole = (
        places.mean(),
        torch.tensor(task.splits.schema.features[0].numbers)[task.whole(split).ids[:, 0]].mean(),
    )
    assert abs(mean - float(whole)) < 0.15 * ROWS, f"{len(rows)} rows with a mean place of {mean:.0f}"


def test_a_larger_draw_contains_the_smaller_one(task: Task) -> None:
    small, large = (set(task.sample("all", Draw(per_class=n))[0].numbers.tolist()) for n in (20, 60))
    assert small < large
