"""Where studies run: a results folder with one store, its victims, and the data they share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any

import torch
from jaxtyping import Int64

from hammingbox.attacks import Attack
from hammingbox.certificates.base import Certificate
from hammingbox.data.dataset import Dataset
from hammingbox.defences import DEFENCES, Defence
from hammingbox.errors import FileError, InputError, OutOfTimeError
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.running.executor import Executor
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import Store, space_digest
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.studies.published import Published, RunName
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.records import Records
from hammingbox.studies.run_facts import RunFacts
from hammingbox.threat.space import Space
from hammingbox.threat.synonym_space import neighbours_file
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import WatchTraining, unwatched
from hammingbox.training.job import RECORD, train_victim
from hammingbox.training.released_job import take_released
from hammingbox.types import RowInt
from hammingbox.victims.ablated import Ablated
from hammingbox.victims.checkpoint import CONFIG, Checkpoint, load_checkpoint
from hammingbox.victims.released import released_victim
from hammingbox.victims.vector_files import find_vectors
from hammingbox.victims.word_vectors import use_vectors
from hammingbox.victims.zoo.registry import build

OnRows = Callable[[int, int], None]
WatchRows = Callable[[str, int], AbstractContextManager[OnRows]]
"""Shows the progress of a run: takes a label and the number of rows, gives the callback of `evaluate_into`."""


@contextmanager
def ignore_rows(_label: str, _rows: int) -> Iterator[OnRows]:
    """Shows no progress of a run."""
    yield lambda _done, _broken: None


@dataclass
class Workspace:
    """A results folder in use. Data, S(x) and victims are opened once and shared by all studies.

    Attributes:
        folder: holds the store, victims, tables and figures.
        store: records of all studies; studies that need the same run share it.
        watch_training: shows the progress of a training.
        watch: shows the progress of a run.
        data_dir: folder that holds data files.
        train: trains a victim and writes its checkpoint.
        executor: computes the batches of runs; this process by default.
        published: records of earlier runs, which are not run again.
        deadline: after this moment, on the clock of `time.monotonic`, no training and no run begins; None for no limit.
        records: the runs requested since this field was last reset.
        planned: victims whose training plans have counted already, so that studies which share them count them once.
        planned_rows: the rows that plans have counted already, by run.
    """

    folder: Path
    store: Store
    watch_training: WatchTraining = unwatched
    watch: WatchRows = ignore_rows
    data_dir: Path | None = None
    train: Callable[..., object] = train_victim
    executor: Executor | None = None
    published: Published = field(default_factory=Published)
    deadline: float | None = None
    records: Records = field(default_factory=Records)
    planned: set[str] = field(default_factory=set)
    planned_rows: dict[RunName, set[int]] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)
    _spaces: dict[tuple[str, bool], Space] = field(default_factory=dict)
    _checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def task(self, recipe: Recipe) -> Task:
        """The data of a victim.

        Raises:
            FileError: its files are missing.
        """
        if recipe.data not in self._tasks:
            self._tasks[recipe.data] = Task.of(recipe.data, data_dir=self.data_dir)
        return self._tasks[recipe.data]

    def threat(self, recipe: Recipe, budget: int) -> ThreatModel:
        """The threat model at a budget, with the data set's own S(x) unless the recipe asks for other synonyms.

        Raises:
            FileError: the counter-fitted neighbours are missing.
        """
        key = (recipe.data, recipe.neighbours)
        if key not in self._spaces:
            neighbours = neighbours_file(data_dir=self.data_dir) if recipe.neighbours else None
            self._spaces[key] = self.task(recipe).space(SpaceChanges(neighbours=neighbours))
        return ThreatModel(self._spaces[key], budget)

    def rows(self, recipe: Recipe, count: int) -> Dataset:
        """Test rows drawn with a fixed seed, in the order of the test set; all of them if there are fewer.

        A larger draw contains every smaller one, so attacks on fewer rows are compared on rows that all attacks share.
        """
        test = self.task(recipe).splits.test
        return test.take(drawn_rows(test.numbers, count))

    def path(self, recipe: Recipe) -> Path:
        """The folder of a victim's checkpoint."""
        return self.folder / "victims" / recipe.folder

    def is_ready(self, recipe: Recipe) -> bool:
        """Whether a victim needs no training."""
        return recipe.released or self._is_saved(recipe)

    def _is_saved(self, recipe: Recipe) -> bool:
        return (self.path(recipe) / CONFIG).exists()

    def missing(self, recipe: Recipe) -> str:
        """Why a victim must be skipped: its data, synonyms, weights or a package is missing. Empty if nothing is.

        Checked before any work, so that a later error is never mistaken for missing data. Writes nothing.
        """
        try:
            self.threat(recipe, 0)
            if recipe.released:
                self.untrained(recipe)
            if (first := _first_start(recipe)).vectors and not self._is_saved(first):
                find_vectors(first.vectors, data_dir=self.data_dir)
        except (FileError, InputError) as error:
            return str(error)
        return ""

    def checkpoint(self, recipe: Recipe) -> Checkpoint:
        """A victim, trained now if it has no checkpoint yet.

        Raises:
            FileError: its data or released weights are missing.
            InputError: the checkpoint was trained with other settings, or its record is not whole.
        """
        if recipe.folder not in self._checkpoints:
            task, path = self.task(recipe), self.path(recipe)
            if not self._is_saved(recipe):
                self._check_time()
                if recipe.released:
                    take_released(task.splits, path, data=recipe.data, data_dir=self.data_dir)
                else:
                    self._train(recipe, task, path)
            found = load_checkpoint(path, schema=task.splits.schema)
            self._check(recipe, found, path)
            self._checkpoints[recipe.folder] = found
        return self._checkpoints[recipe.folder]

    def _check(self, recipe: Recipe, found: Checkpoint, path: Path) -> None:
        """Compares a checkpoint with its recipe; its record must be whole.

        The folder's name covers the settings that the recipe states. Defaults of the package may have changed since the
        checkpoint was written.
        """
        if missing := [name for name in RECORD if name not in found.training]:
            raise InputError(
                f"expected the whole record of a training in {path / CONFIG}, got one without {', '.join(missing)}. "
                "Remove that folder to make the victim again, or choose another --out."
            )
        recorded = found.training.get("config", {}) | {"defence": found.training.get("defence")}
        expected = self.config(recipe).record() | {"defence": repr(defence_of(recipe))}
        for name, value in expected.items():
            if recorded.get(name) not in (None, value):
                raise InputError(
                    f"expected {path} to be trained with {name} {value}, got {recorded[name]}: defaults have changed. "
                    "Remove that folder, or choose another --out."
                )

    def _train(self, recipe: Recipe, task: Task, path: Path) -> None:
        splits, config = task.splits, self.config(recipe)
        if recipe.train_rows is not None:
            splits = replace(splits, train=splits.train.take(slice(0, recipe.train_rows)))
        if recipe.start is None:
            start, defence, threat = self.untrained(recipe), None, None
        else:
            # Training changes its start in place, and tables still need the start: train a copy from disk.
            self.checkpoint(recipe.start)
            start = load_checkpoint(self.path(recipe.start), schema=splits.schema)
            defence, threat = defence_of(recipe), self.threat(recipe, recipe.budget)
        with self.watch_training(start.model, task.name, config) as callbacks:
            self.train(splits, start, config, path, data=task.name, defence=defence, threat=threat, **callbacks)

    def untrained(self, recipe: Recipe) -> Checkpoint:
        """A victim with its initial weights; released victims come with the released weights.

        Raises:
            FileError: the released weights or the word vectors are missing.
        """
        schema = self.task(recipe).splits.schema
        if recipe.released:
            if self._is_saved(recipe):
                return load_checkpoint(self.path(recipe), schema=schema)
            return released_victim(recipe.data, data_dir=self.data_dir)
        model, settings = recipe.model or self.task(recipe).source.model, dict(recipe.model_settings)
        victim, training = build(model, schema, seed=recipe.seed, **settings), {}
        if recipe.vectors:
            path = find_vectors(recipe.vectors, data_dir=self.data_dir)
            training = {"vectors": recipe.vectors, "words_with_vectors": use_vectors(victim, schema, path)}
        return Checkpoint(victim, model, settings, schema, training)

    def config(self, recipe: Recipe) -> TrainConfig:
        """How a victim is trained."""
        source = self.task(recipe).source
        own: dict[str, Any] = dict(source.training) if recipe.model in ("", source.model) else {}
        return TrainConfig(**(own | dict(recipe.training)), seed=recipe.seed)

    def training(self, recipe: Recipe, *, needed: bool) -> dict[str, Any]:
        """The record of a victim's training.

        Args:
            recipe: the victim.
            needed: whether its weights are needed. Otherwise a published record suffices.

        Raises:
            OutOfTimeError: it must be trained, and the deadline is over.
            VictimError: the training failed.
        """
        if not needed and recipe.folder in self.published.victims:
            return self.published.victims[recipe.folder]
        return self.checkpoint(recipe).training

    def published_run(self, recipe: Recipe, attack: Attack, budget: int, seed: int, rows: int) -> RunFacts | None:
        """A run as it was published; None if it was not, or on other rows."""
        if not self.published.runs:
            return None
        return self.published.find(
            self._run_name(recipe, attack, budget, seed), self.rows(recipe, rows).numbers.numpy()
        )

    def evaluate(self, recipe: Recipe, attack: Attack, name: str, budget: int, seed: int, rows: int) -> RunFacts:
        """What an attack does to a victim: as published, or by `attack`.

        Raises:
            TooExpensiveError: the attack refused.
            FileError: data is missing.
            OutOfTimeError: rows are left to attack, and the deadline is over.
        """
        if (found := self.published_run(recipe, attack, budget, seed, rows)) is not None:
            run = self._run_name(recipe, attack, budget, seed)
            self.records.add_published(run, self.published.runs[run], self.published.victims[recipe.folder])
            return found
        return RunFacts.of(self.attack(recipe, attack, name, budget, seed, rows))

    def attack(self, recipe: Recipe, attack: Attack, name: str, budget: int, seed: int, rows: int) -> Evaluation:
        """Attacks one victim; rows that the store holds already are read from it.

        Args:
            recipe: the victim.
            attack: with its settings.
            name: what the store calls the attack.
            budget: number of changes allowed.
            seed: of the attack.
            rows: number of test rows.

        Raises:
            TooExpensiveError: the attack refused.
            FileError: data is missing.
            OutOfTimeError: rows are left to attack, and the deadline is over.
        """
        checkpoint, data = self.checkpoint(recipe), self.rows(recipe, rows)
        if self._left(recipe, self._run_name(recipe, attack, budget, seed), set(data.numbers.tolist())):
            self._check_time()
        with self.watch(f"{recipe.one_training}: {name}, budget {budget}, seed {seed}", len(data)) as on_rows:
            found = evaluate_into(
                self.store, checkpoint, data, self.threat(recipe, budget), attack,
                name=name, place=str(self.path(recipe)), source=recipe.data, seed=seed, batch_size=32,
                executor=self.executor, on_rows=on_rows,
            )  # fmt: skip
        self.records.add(recipe.folder, checkpoint, found)
        return found

    def certify(
        self,
        recipe: Recipe,
        certificate: Certificate,
        budget: int,
        rows: int,
        *,
        name: str,
        keep: int | None = None,
        mask: int | None = None,
        votes: int = 1000,
    ) -> Evaluation:
        """Certifies one victim; rows that the store holds already are read from it.

        Args:
            recipe: the victim.
            certificate: the method.
            budget: changed features at most.
            rows: number of test rows.
            name: short name of the method.
            keep: certify votes over subsets of this many features in place of the model itself.
            mask: the category that is written over hidden features.
            votes: subsets that vote.

        Raises:
            InputError: the method does not apply to the victim.
            FileError: data is missing.
            OutOfTimeError: rows are left to certify, and the deadline is over.
        """
        checkpoint, data = self.checkpoint(recipe), self.rows(recipe, rows)
        run = (recipe.folder, space_digest(self.threat(recipe, budget).space), repr(certificate), budget, 0)
        if self._left(recipe, run, set(data.numbers.tolist())):
            self._check_time()
        if keep is not None:
            voting = Ablated(checkpoint.victim, keep, mask=mask, votes=votes)
            checkpoint = replace(checkpoint, victim=voting, model=f"{voting.described} {checkpoint.model}")
        with self.watch(f"{recipe.one_training}: certify {name}, budget {budget}", len(data)) as on_rows:
            found = evaluate_into(
                self.store, checkpoint, data, self.threat(recipe, budget), certificate,
                name=f"certify {name}", place=str(self.path(recipe)), source=recipe.data, batch_size=64,
                executor=self.executor, on_rows=on_rows,
            )  # fmt: skip
        self.records.add(recipe.folder, checkpoint, found)
        return found

    def _check_time(self) -> None:
        if self.deadline is not None and monotonic() > self.deadline:
            raise OutOfTimeError("not run yet, the time limit is over; the same command continues")

    def _run_name(self, recipe: Recipe, attack: Attack, budget: int, seed: int) -> RunName:
        return recipe.folder, space_digest(self.threat(recipe, budget).space), repr(attack), budget, seed

    def remaining(self, recipe: Recipe, attack: Attack, budget: int, seed: int, rows: int) -> int:
        """How many rows of a run are neither recorded nor counted by an earlier plan."""
        name = self._run_name(recipe, attack, budget, seed)
        numbers = set(self.rows(recipe, rows).numbers.tolist())
        counted = self.planned_rows.setdefault(name, set())
        left = numbers - counted
        counted.update(numbers)
        return len(self._left(recipe, name, left))

    def _left(self, recipe: Recipe, name: RunName, numbers: set[int]) -> set[int]:
        """The rows of a run that the store does not hold. The folder may have moved: the victim's own name counts."""
        for run in self.store.runs():
            if (
                Path(run.victim).name == self.path(recipe).name
                and (run.key.space_sha256, run.key.attack, run.key.budget, run.key.seed) == name[1:]
            ):
                numbers = numbers - self.store.recorded(run.id, sorted(numbers)).keys()
        return numbers


_DRAW = 0
"""Seed of the draw of test rows."""


def drawn_rows(numbers: RowInt, count: int) -> Int64[torch.Tensor, "some"]:
    """Places of `count` rows drawn with a fixed seed, in ascending order.

    Rows are ranked by a hash of the seed and their number: the draw is the same on every machine and with every version
    of the libraries, and a larger draw contains every smaller one.
    """
    keys = [blake2b(b"%d/%d" % (_DRAW, number), digest_size=8).digest() for number in numbers.tolist()]
    places = sorted(range(len(keys)), key=keys.__getitem__)[:count]
    return torch.tensor(sorted(places), dtype=torch.int64, device=numbers.device)


def _first_start(recipe: Recipe) -> Recipe:
    """The victim that a recipe begins with: itself, or the start of its start."""
    return recipe if recipe.start is None else _first_start(recipe.start)


def defence_of(recipe: Recipe) -> Defence:
    """A fresh defence with the recipe's settings."""
    return DEFENCES[recipe.defence](**recipe.defence_settings)
