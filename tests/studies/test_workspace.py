"""Workspaces: S(x) is built once per data set, victims are trained once and only used with their recipe."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hammingbox import load_checkpoint
from hammingbox.errors import InputError
from hammingbox.running.tasks import Task
from hammingbox.studies import workspace as workspace_module
from hammingbox.studies.grid import plan_grid, run_grid
from hammingbox.studies.recipe import Recipe, defended
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from hammingbox.threat.synonym_space import neighbours_file
from toys.studies import QUICK, CountingTrainer
from toys.texts import small_reviews, write_reviews

WORDS = Recipe(
    label="standard", data="imdb", model="word_cnn", model_settings={"dim": 4, "channels": 4}, training={"epochs": 1}
)


def with_hotflip(start: Recipe) -> tuple[Recipe, Recipe]:
    return start, defended("HotFlip", start, "hotflip", budget=1, epochs=1, robust_rows=2)


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A data folder with small reviews and counter-fitted neighbours."""
    rows = small_reviews(80)
    folder = write_reviews(tmp_path / "data", rows[:48], rows[48:])
    (folder / "counterfitted_neighbors.json").write_text('{"film": ["movie"]}')
    return folder


def counted(calls: Counter[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **settings: Any) -> Any:
        calls[name] += 1
        return function(*args, **settings)

    return call


def test_spaces_are_built_once_per_data_set(
    workspace: Workspace, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    monkeypatch.setattr(Task, "space", counted(calls, "space", Task.space))
    lookup = counted(calls, "neighbours", neighbours_file)
    monkeypatch.setattr(workspace_module, "neighbours_file", lookup)
    workspace.data_dir = reviews
    neighbours = with_hotflip(replace(WORDS, neighbours=True))
    size = Size(victims=(WORDS, *neighbours), rows=2, budgets=(1, 2), attacks=("ga", "gga"))
    plan_grid(workspace, size)
    run_grid(workspace, size)
    assert calls == {"space": 2, "neighbours": 1}, "one S(x) per synonym table, for all victims, budgets and seeds"
    assert workspace.threat(WORDS, 1).space is workspace.threat(WORDS, 2).space


def test_other_synonyms_make_another_defended_victim_and_other_runs(workspace: Workspace, reviews: Path) -> None:
    workspace.data_dir = reviews
    file = reviews / "counterfitted_neighbors.json"
    table = file.read_bytes()
    file.unlink()
    wordnet, neighbours = with_hotflip(WORDS), with_hotflip(replace(WORDS, neighbours=True))
    assert wordnet[0].folder == neighbours[0].folder, "standard training ignores the threat"
    assert wordnet[1].folder != neighbours[1].folder
    size = Size(victims=wordnet, rows=4, budgets=(1,), attacks=("gga",))
    other = replace(size, victims=neighbours)
    (line, _) = run_grid(workspace, other).skipped
    assert "counterfitted_neighbors" in line
    file.write_bytes(table)
    assert len(run_grid(workspace, size).cells) == 2
    assert sum(step.rows for step in plan_grid(replace(workspace, planned=set()), other) if "gga" in step.what) == 8
    assert len(run_grid(workspace, other).cells) == 2
    assert len({run.key.space_sha256 for run in workspace.store.runs()}) == 2
    assert sum(step.rows for step in plan_grid(replace(workspace, planned=set()), other)) == 0


def test_a_start_is_trained_once_and_kept(workspace: Workspace, trainer: CountingTrainer) -> None:
    start = replace(QUICK, label="standard")
    recipe = defended("HotFlip", start, "hotflip", budget=1, epochs=1, robust_rows=4)
    before = {name: tensor.clone() for name, tensor in workspace.checkpoint(start).victim.state_dict().items()}
    workspace.checkpoint(recipe)
    workspace.checkpoint(recipe)
    assert trainer.trained == [start.folder, recipe.folder]
    after = load_checkpoint(workspace.path(start)).victim.state_dict()
    assert all(bool((before[name] == after[name]).all()) for name in before), (
        "training a defence leaves its start alone"
    )


def test_a_victim_trained_with_other_defaults_is_refused(workspace: Workspace) -> None:
    recipe = defended("HotFlip", QUICK, "hotflip", budget=1, epochs=1, robust_rows=4)
    path = workspace.path(recipe)
    workspace.checkpoint(recipe)
    found = load_checkpoint(path)
    fresh = replace(workspace, _checkpoints={})
    assert fresh.checkpoint(recipe).training == found.training
    for changed in ({"defence": "HotFlipTraining(clean_share=0.123)"}, {"config": {"clip": 77.0}}):
        replace(found, training=found.training | changed).save(path)
        with pytest.raises(InputError, match="defaults have changed"):
            replace(workspace, _checkpoints={}).checkpoint(recipe)
