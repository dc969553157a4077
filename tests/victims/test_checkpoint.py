"""Checkpoints: what was saved comes back, and only for the schema it was made for."""

from pathlib import Path

import pytest
import torch

from hammingbox.data import splice
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.zoo.registry import VICTIMS, build
from toys import toy_schema
from toys.models import SMALL, schema_for, small_model, some_rows

OLD = Path(__file__).parents[1] / "fixtures" / "d15ede3" / "victim"

KEYS = {
    "lstm": {"embedding.table.weight", "lstm.weight_ih_l0", "lstm.weight_ih_l0_reverse", "attention.0.weight"},
    "cnn": {"embedding.table.weight", "convolutions.0.weight", "convolutions.2.weight", "output.2.weight"},
    "mlp": {"embedding.table.weight", "output.1.weight", "output.7.weight"},
    "linear": {"embedding.table.weight", "output.0.bias"},
    "windows": {"scores.weight", "bias"},
    "smooth_windows": {"scores.weight", "singles", "bias"},
    "shallow": {"embedding.table.weight", "output.0.bias", "output.2.weight", "output.2.bias"},
    "word_cnn": {"embedding.table.weight", "convolutions.0.weight", "convolutions.2.weight", "output.weight"},
    "bilstm": {"embedding.table.weight", "onward.weight_ih_l0", "homeward.weight_ih_l0", "output.weight"},
    "char_cnn": {"embedding.weight", "convolutions.0.weight", "output.0.weight", "output.5.weight"},
    "char_cnn_paper": {"embedding.weight", "convolutions.5.weight", "output.1.weight", "output.7.weight"},
}
"""Some names of weights in stored checkpoints of each model: they must not change."""


@pytest.mark.parametrize("name", VICTIMS)
def test_every_model_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    schema, victim = schema_for(name), small_model(name)
    Checkpoint(victim, name, SMALL.get(name, {}), schema, {"note": "toy"}).save(tmp_path)
    again = load_checkpoint(tmp_path, schema=schema)
    assert torch.equal(again.victim(some_rows(schema)), victim(some_rows(schema)))
    assert again.training == {"note": "toy"}
    assert not again.victim.training


@pytest.mark.parametrize("name", VICTIMS)
def test_names_of_weights_do_not_change(name: str) -> None:
    assert KEYS[name] <= small_model(name).state_dict().keys()


def test_a_checkpoint_of_version_0_1_is_read() -> None:
    splits = splice.load()
    found = load_checkpoint(OLD, schema=splits.schema)
    assert found.model == "cnn"
    assert accuracy(found.victim, splits.test) == pytest.approx(found.training["test_accuracy"], abs=2e-3)


def test_another_schema_and_damaged_files_are_refused(tmp_path: Path) -> None:
    schema = toy_schema((4, 2, 7))
    Checkpoint(build("mlp", schema), "mlp", {}, schema).save(tmp_path)
    with pytest.raises(FileError, match=r"this data's schema \(3 features, 12 .* got one for another \(3 features, 13"):
        load_checkpoint(tmp_path, schema=toy_schema((4, 1, 7)))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(FileError, match=r"got another or a truncated model.safetensors"):
        load_checkpoint(tmp_path)
    with pytest.raises(FileError, match=r"expected a checkpoint .* got none"):
        load_checkpoint(tmp_path / "nowhere" / "deeper")


def test_the_table_model_has_vectors_for_each_column() -> None:
    victim = build("mlp", toy_schema((3, 3))).eval()
    first, second = victim.embed(torch.tensor([[1, 1]]))[0]
    assert not torch.equal(first, second), "category 1 of one column is not category 1 of another"


def test_unknown_models_and_settings_are_refused() -> None:
    with pytest.raises(InputError, match="expected settings of the model 'mlp', got"):
        build("mlp", toy_schema((3, 3)), width=3)
    with pytest.raises(InputError, match=r"known model .* Did you mean 'lstm'"):
        build("lstn", toy_schema((3, 3)))


def test_building_leaves_the_global_generator_as_it_was() -> None:
    before = torch.get_rng_state()
    first, second, other = (build("mlp", toy_schema((3, 3)), seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["embedding.table.weight"], other["embedding.table.weight"])
