"""Damaged files, stores, command lines and arguments end in a clear error, never in a traceback.

These are a few hundred inputs; `make fuzz` runs thousands of them and measures time and memory.
"""

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.bombs import BOMBS, QUICK
from fuzz.corpus import FILES, read_again
from fuzz.damage import KINDS, damaged, damaged_value
from fuzz.models import FILES as MODEL_FILES
from fuzz.models import TEXTS, model_seed, opened_and_asked, quick_trials, seed_schema
from fuzz.seeds import write_seeds
from fuzz.targets import TARGETS

SLOW = {
    "api_arguments",
    "checkpoint_config",
    "store_file",
    "store_values",
    "store_documents",
    "command_line",
    "result_header",
    "result_rows",
    "model_columns",
    "model_folder",
    "model_cbm",
}
"""Targets that run whole commands: fewer examples."""


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_seeds(tmp_path_factory.mktemp("seeds"))


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_damage_ends_in_a_value_or_a_clear_error(name: str, seeds: Path) -> None:
    @settings(max_examples=4 if name in SLOW else 10, suppress_health_check=list(HealthCheck))
    @given(random=st.randoms(use_true_random=False))
    def read(random: Random) -> None:
        with tempfile.TemporaryDirectory() as folder:
            TARGETS[name](seeds, Path(folder), random)

    read()


@pytest.mark.parametrize("name", MODEL_FILES)
def test_the_models_that_are_damaged_are_whole_before(name: str, seeds: Path, tmp_path: Path) -> None:
    with quick_trials(tmp_path):
        opened_and_asked(str(model_seed(seeds, name)), seed_schema())


def test_the_folder_that_is_damaged_is_whole_before(seeds: Path) -> None:
    opened_and_asked(str(model_seed(seeds, "bert")), TEXTS)


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_once_failed_is_a_clear_error_now(name: str, seeds: Path, tmp_path: Path) -> None:
    read_again(name, seeds, tmp_path, quick=True)


@pytest.mark.parametrize("name", QUICK)
def test_what_asks_for_the_whole_machine_is_refused_at_once(name: str, seeds: Path, tmp_path: Path) -> None:
    BOMBS[name](seeds, tmp_path)


@given(random=st.randoms(use_true_random=False), kind=st.sampled_from(KINDS))
def test_every_kind_of_damage_takes_any_bytes(random: Random, kind: object) -> None:
    for content in (b"", b"\x00", b"a,b\n1,2\n" * 20):
        assert isinstance(kind(content, random), bytes)
        assert isinstance(damaged(content, random), bytes)


def test_damage_changes_what_it_is_given() -> None:
    """A fuzzer that damages nothing would pass every test."""
    content = b"colour,bought\n" + b"red,yes\nblue,no\n" * 10
    changed = sum(damaged(content, Random(seed)) != content for seed in range(100))
    assert changed > 90
    value = {"a": [1, 2, {"b": "c"}], "d": None}
    assert sum(damaged_value(value, Random(seed)) != value for seed in range(100)) > 80
    assert value == {"a": [1, 2, {"b": "c"}], "d": None}, "a copy is damaged"
