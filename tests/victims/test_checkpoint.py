"""Checkpoints: what was saved comes back, and only for the schema it was made for."""

from pathlib import Path

import pytest
import torch

from hammingbox.errors import FileError, InputError
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.zoo.registry import VICTIMS, build
from toys import toy_schema

SETTINGS = {"char_cnn": {"channels": 8, "hidden": 8}, "char_cnn_paper": {"channels": 8, "hidden": 8}}


@pytest.mark.parametrize("name", VICTIMS)
def test_every_model_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    one_alphabet = {"char_cnn": 130, "char_cnn_paper": 130, "word_cnn": 9, "bilstm": 9}
    schema = toy_schema((5,) * one_alphabet[name] if name in one_alphabet else (4, 2, 7))
    settings = SETTINGS.get(name, {})
    victim = build(name, schema, seed=3, **settings).eval()
    Checkpoint(victim, name, settings, schema, {"note": "toy"}).save(tmp_path)
    again = load_checkpoint(tmp_path, schema=schema)
    x = torch.stack([torch.arange(6) % d for d in schema.cardinalities], 1)
    assert torch.equal(again.victim(x), victim(x))
    assert again.training == {"note": "toy"}
    assert not again.victim.training


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
    with pytest.raises(InputError, match="expected settings of the model 'mlp', got"):
        build("mlp", toy_schema((3, 3)), width=3)
