"""A workspace in a temporary folder, and a victim that is trained in a second, for tests of studies."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from hammingbox.report.artefacts.table import Value
from hammingbox.reproduction.recipes import SPLICE_QUICK
from hammingbox.running.store import open_store
from hammingbox.studies.workspace import Workspace
from hammingbox.training.job import train_victim

QUICK = replace(SPLICE_QUICK, training={"epochs": 1, "learning_rate": 1e-2})


@dataclass
class CountingTrainer:
    """Trains as `train_victim` does, and notes the name of each victim's folder.

    Attributes:
        cache: finished victims of all tests by the name of their folder, so that each is trained once per session.
    """

    cache: Path
    trained: list[str] = field(default_factory=list)

    def __call__(self, splits: Any, start: Any, config: Any, folder: Path, **settings: Any) -> None:
        self.trained.append(folder.name)
        finished = self.cache / folder.name
        if not finished.exists():
            train_victim(splits, start, config, finished, **settings)
        copytree(finished, folder)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the data sets of the package are there."""
    monkeypatch.delenv("HAMMINGBOX_DATA", raising=False)


@pytest.fixture(scope="session")
def finished_victims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("victims")


@pytest.fixture
def trainer(finished_victims: Path) -> CountingTrainer:
    return CountingTrainer(finished_victims)


@pytest.fixture
def workspace(tmp_path: Path, trainer: CountingTrainer) -> Iterator[Workspace]:
    with open_store(tmp_path, create=True) as store:
        yield Workspace(tmp_path, store, train=trainer)


def number(value: Value) -> float:
    """The value of a cell that must hold a number."""
    assert isinstance(value, int | float)
    return value


def reopened(workspace: Workspace) -> Workspace:
    """The same folder as a later process finds it; it may not train."""

    def train(*_args: object, **_settings: object) -> None:
        raise AssertionError("the victim was there")

    return Workspace(workspace.folder, workspace.store, data_dir=workspace.data_dir, train=train)
