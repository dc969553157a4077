"""A data set is a known name or the path of a file."""

import pickle
from pathlib import Path

import pytest

from hammingbox.data.registry import DATASETS, source_named
from hammingbox.errors import FileError, InputError
from hammingbox.training.config import TrainConfig
from hammingbox.victims.zoo.registry import VICTIMS


@pytest.mark.parametrize("name", DATASETS)
def test_entries_name_models_and_settings_that_exist(name: str) -> None:
    source = source_named(name)
    assert source.model in VICTIMS
    TrainConfig(**source.training)  # type: ignore[arg-type]


def test_a_file_is_a_source(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(40)))
    toml = tmp_path / "schema.toml"
    toml.write_text(
        'label="y"\nunknown="category"\n[[columns]]\nname="b"\nimmutable=true\n[[columns]]\nname="a"\nbins=[9,19,29]\n'
    )
    source = source_named(str(path), schema=toml)
    assert (source.model, source.immutable, source.forbidden) == ("mlp", ["b"], {"*": ["<unknown>"]})
    splits = source.load()
    assert splits.test.name == "own.csv"
    assert splits.schema.cardinalities == (4, 5)
    assert source_named(str(path), label="y").load().schema.cardinalities == (40, 3), "forty numbers stay numbers"


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"path of a file .* got 'slice'. Did you mean 'splice'"):
        source_named("slice")
    with pytest.raises(FileError, match=r"expected a readable file at .*none.csv"):
        source_named(str(tmp_path / "none.csv"), label="y")
    with pytest.raises(InputError, match="only with a file of your own"):
        source_named("splice", label="y")


@pytest.mark.parametrize("name", DATASETS)
def test_a_source_can_be_sent_to_another_process(name: str) -> None:
    assert repr(pickle.loads(pickle.dumps(DATASETS[name]))) == repr(DATASETS[name]), "a partial compares by identity"


def test_a_source_that_was_sent_loads_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(40)))
    for source in (DATASETS["splice"], source_named(str(path), label="y")):
        again = pickle.loads(pickle.dumps(source))
        assert again.load(data_dir=None).test.digest == source.load().test.digest
