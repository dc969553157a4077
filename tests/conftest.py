"""Shapes are checked at run time; one thread is twelve times faster than two fighting over tiny tensors."""

from jaxtyping import install_import_hook

install_import_hook("hammingbox", "beartype.beartype")

import pytest
import torch
from hypothesis import settings

from hammingbox.data import splice
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint
from toys import Case, ToyVictim, toy_rows, toy_schema

torch.set_num_threads(1)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def splice_splits() -> Splits:
    return splice.load()


@pytest.fixture(scope="session")
def schema() -> Schema:
    return toy_schema((3, 2, 5, 3, 4))


@pytest.fixture
def victim(schema: Schema) -> ToyVictim:
    return ToyVictim(schema.cardinalities, len(schema.classes))


@pytest.fixture
def case(schema: Schema, victim: ToyVictim) -> Case:
    """A victim, thirty rows and a threat."""
    x, y = toy_rows(schema, victim, rows=30)
    y[:4] = (y[:4] + 1) % 3  # four rows are wrong before any attack
    data = Dataset(schema, x, y, "toy", torch.arange(100, 130))
    return Checkpoint(victim, "toy", {}, schema), data, ThreatModel(FullSpace(schema), 2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests neither use nor fill the cache of whoever runs them."""
    monkeypatch.setenv("HAMMINGBOX_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
