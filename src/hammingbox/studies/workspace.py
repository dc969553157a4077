"""Where experiments run: a results folder with one store, its victims, and the data they share."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.data.schema import Dataset
from hammingbox.defences import DEFENCES, Defence
from hammingbox.errors import InputError
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import Store, space_digest
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.records import Records
from hammingbox.threat.synonym_space import neighbours_file
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.job import train_victim
from hammingbox.victims.checkpoint import CONFIG, Checkpoint, load_checkpoint
from hammingbox.victims.released import ips_lstm
from hammingbox.victims.zoo.registry import build

OnRows = Callable[[int, int], None]
WatchTraining = Callable[[str, str, TrainConfig], AbstractContextManager[Mapping[str, Callable[[Any], None]]]]
"""Shows the progress of a training of a model on data: gives callbacks for `train_victim`."""


@dataclass
class Workspace:
    """A results folder at work.

    Attributes:
        folder: for the store, victims, tables and figures.
        store: records of all experiments; those that need the same run share it.
        watch_training: shows the progress of a training.
        watch: shows the progress of a piece of work: a label and its number of rows.
        data_dir: folder that holds data files.
        records: the runs asked for since it was made new.
        planned: what plans have counted already: victims to train, and runs; tables share both.
    """

    folder: Path
    store: Store
    watch_training: WatchTraining
    watch: Callable[[str, int], AbstractContextManager[OnRows]]
    data_dir: Path | None = None
    records: Records = field(default_factory=Records)
    planned: set[tuple[object, ...]] = field(default_factory=set)
    _opened: dict[str, Task] = field(default_factory=dict)
    _checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def opened(self, recipe: Recipe) -> Task:
        """The data of a victim.

        Raises:
            FileError: its files are not at hand.
        """
        if recipe.data not in self._opened:
            self._opened[recipe.data] = Task.of(recipe.data, data_dir=self.data_dir)
        return self._opened[recipe.data]

    def threat(self, recipe: Recipe, budget: int) -> ThreatModel:
        """The threat model at a budget: the data set's own, unless the recipe names other synonyms.

        Raises:
            FileError: the neighbours are not at hand.
        """
        neighbours = neighbours_file(data_dir=self.data_dir) if recipe.neighbours else None
        return ThreatModel(self.opened(recipe).space(SpaceChanges(neighbours=neighbours)), budget)

    def rows(self, recipe: Recipe, count: int) -> Dataset:
        """The first test rows; all of them where there are fewer."""
        test = self.opened(recipe).splits.test
        return test.take(slice(0, count))

    def path(self, recipe: Recipe) -> Path:
        """Where a victim's checkpoint lies."""
        return self.folder / "victims" / recipe.folder

    def is_ready(self, recipe: Recipe) -> bool:
        """Whether a victim needs no training."""
        return recipe.released or (self.path(recipe) / CONFIG).exists()

    def need(self, recipe: Recipe) -> None:
        """Makes sure that a victim can be had, so that what goes wrong later is not taken for missing data.

        Raises:
            FileError: its data, synonyms or released weights are not at hand.
            InputError: a package that reads them is not installed.
        """
        self.threat(recipe, 0)
        if recipe.released:
            self.checkpoint(recipe)

    def checkpoint(self, recipe: Recipe) -> Checkpoint:
        """A victim, trained now if it is not there yet.

        Raises:
            FileError: its data or released weights are not at hand.
            InputError: the victim there was trained in another way.
        """
        if recipe.folder not in self._checkpoints:
            opened, path = self.opened(recipe), self.path(recipe)
            if not (path / CONFIG).exists():
                if recipe.released:
                    ips_lstm(data_dir=self.data_dir).save(path)
                else:
                    self._train(recipe, opened, path)
            found = load_checkpoint(path, schema=opened.splits.schema)
            self._check(recipe, found, path)
            self._checkpoints[recipe.folder] = found
        return self._checkpoints[recipe.folder]

    def _check(self, recipe: Recipe, found: Checkpoint, path: Path) -> None:
        """A folder's name tells the settings a recipe gives; defaults may have changed since it was written."""
        recorded = found.training.get("config", {}) | {"defence": found.training.get("defence")}
        expected = asdict(self.config(recipe)) | {"defence": repr(defence_of(recipe))}
        for name, value in expected.items():
            if recorded.get(name) not in (None, value):
                raise InputError(
                    f"expected {path} to be trained with {name} {value}, got {recorded[name]}: defaults have changed. "
                    "Remove that folder, or choose another --out."
                )

    def _train(self, recipe: Recipe, opened: Task, path: Path) -> None:
        splits, config = opened.splits, self.config(recipe)
        if recipe.train_rows is not None:
            splits = replace(splits, train=splits.train.take(slice(0, recipe.train_rows)))
        if recipe.start is None:
            start, defence, threat = self.untrained(recipe), None, None
        else:
            # A copy from disk: training changes its start, and tables still need that.
            self.checkpoint(recipe.start)
            start = load_checkpoint(self.path(recipe.start), schema=splits.schema)
            defence, threat = defence_of(recipe), self.threat(recipe, recipe.budget)
        with self.watch_training(start.model, opened.name, config) as callbacks:
            train_victim(splits, start, config, path, data=opened.name, defence=defence, threat=threat, **callbacks)

    def untrained(self, recipe: Recipe) -> Checkpoint:
        """A victim of the right shape with its first weights."""
        opened = self.opened(recipe)
        if recipe.released:
            return ips_lstm(data_dir=self.data_dir)
        model, settings = recipe.model or opened.source.model, dict(recipe.model_settings)
        return Checkpoint(build(model, opened.splits.schema, **settings), model, settings, opened.splits.schema)

    def config(self, recipe: Recipe) -> TrainConfig:
        """How a victim is trained."""
        source = self.opened(recipe).source
        suits: dict[str, Any] = dict(source.training) if recipe.model in ("", source.model) else {}
        return TrainConfig(**(suits | dict(recipe.training)))

    def evaluate(
        self,
        recipe: Recipe,
        attack: str,
        budget: int,
        seed: int,
        rows: int,
        settings: Mapping[str, Any] | None = None,
    ) -> Evaluation:
        """One attack on one victim, from the store as far as it is recorded there.

        Raises:
            TooExpensiveError: the attack refused.
            FileError: data is not at hand.
        """
        checkpoint, data = self.checkpoint(recipe), self.rows(recipe, rows)
        with self.watch(f"{recipe.data}, {recipe.label}: {attack}, budget {budget}, seed {seed}", len(data)) as on_rows:
            found = evaluate_into(
                self.store, checkpoint, data, self.threat(recipe, budget), ATTACKS[attack](**(settings or {})),
                name=attack, place=str(self.path(recipe)), source=recipe.data, seed=seed, batch_size=32,
                on_rows=on_rows,
            )  # fmt: skip
        self.records.add(recipe.folder, checkpoint, found)
        return found

    def remaining(self, recipe: Recipe, attack: Attack, budget: int, seed: int, rows: int) -> int:
        """How many rows of a run are neither recorded nor counted by an earlier plan."""
        space = space_digest(self.threat(recipe, budget).space)
        key = (recipe.folder, space, repr(attack), budget, seed)
        if key in self.planned:
            return 0
        self.planned.add(key)
        recorded = sum(
            run.rows
            for run in self.store.runs()
            if Path(run.victim).resolve() == self.path(recipe).resolve()
            and (run.key.space_sha256, run.key.attack, run.key.budget, run.key.seed) == key[1:]
        )
        return max(0, rows - recorded)


def defence_of(recipe: Recipe) -> Defence:
    """The defence of a recipe, new."""
    return DEFENCES[recipe.defence](**recipe.defence_settings)
