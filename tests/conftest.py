"""Shapes are checked at run time; one thread is twelve times faster than two fighting over tiny tensors."""

from jaxtyping import install_import_hook

install_import_hook("hammingbox", "beartype.beartype")

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

from hammingbox.data import splice  # noqa: E402
from hammingbox.data.schema import Schema, Splits  # noqa: E402
from toys import ToyVictim, toy_schema  # noqa: E402

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


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests neither use nor fill the cache of whoever runs them."""
    monkeypatch.setenv("HAMMINGBOX_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
