"""The authors' models: their weights compute what their models do, and foreign weight files are never run."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from hammingbox.data import ips, splice_paper
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.checkpoint import foreign_tensors, load_checkpoint
from hammingbox.victims.released import RELEASED, released_victim
from hammingbox.victims.zoo.registry import build
from toys.real_data import DATA, needs
from toys.released import LAYERS, released_weights, some_rows

ROWS = np.random.default_rng(0).integers(1, 1067, size=(6, 20))
LABELS = np.array([0, 1, 2, 2, 1, 0])
RAN: list[str] = []


def run(text: str) -> None:
    RAN.append(text)


class Hostile:
    def __reduce__(self) -> Any:
        return run, ("code of the file ran",)


def test_training_without_training_rows_says_so(tmp_path: Path) -> None:
    (tmp_path / "mal_test_funccall.pickle").write_bytes(pickle.dumps(ROWS.tolist()))
    (tmp_path / "mal_test_label.pickle").write_bytes(pickle.dumps(LABELS.tolist()))
    splits = ips.load(data_dir=tmp_path)
    with pytest.raises(InputError, match="expected training and validation rows in ips, got 0 and 0"):
        fit(build("mlp", ips.SCHEMA), splits, TrainConfig(epochs=1))


@pytest.mark.parametrize("data", RELEASED)
def test_released_weights_compute_what_the_authors_model_does(data: str, tmp_path: Path) -> None:
    weights, (rows, _) = released_weights(data), some_rows(data)
    torch.save(weights, tmp_path / RELEASED[data].authors_file)
    checkpoint = released_victim(data, data_dir=tmp_path)

    dim, categories = weights["embed.weight"].shape[1], weights["embed.weight"].shape[0]
    lstm = torch.nn.LSTM(dim, dim, num_layers=LAYERS[data], batch_first=True)
    lstm.load_state_dict({name[5:]: tensor for name, tensor in weights.items() if name.startswith("lstm.")})
    one_hot = torch.nn.functional.one_hot(rows, categories).float()
    steps = (one_hot[..., None] * weights["embed.weight"]).relu().mean(2)
    states, _ = lstm(steps)
    energy = (states @ weights["attention.projection.0.weight"].T + weights["attention.projection.0.bias"]).relu()
    energy = energy @ weights["attention.projection.2.weight"].T + weights["attention.projection.2.bias"]
    pooled = (states * energy.softmax(1)).sum(1)
    expected = pooled @ weights["fc.weight"].T + weights["fc.bias"]

    assert torch.allclose(checkpoint.victim(rows), expected, atol=1e-5)
    checkpoint.save(tmp_path / "saved")
    again = load_checkpoint(tmp_path / "saved", schema=RELEASED[data].schema)
    assert torch.equal(again.victim(rows), checkpoint.victim(rows))


@pytest.mark.parametrize("data", RELEASED)
def test_other_weights_are_refused(data: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"expected a file of \w+ \(victim.safetensors or \w+_RNN.\d+\), got none in"):
        released_victim(data, data_dir=tmp_path)
    weights = released_weights(data)
    del weights["fc.bias"]
    save_file(weights, tmp_path / "victim.safetensors")
    with pytest.raises(FileError, match=f"expected the weights of the authors' model for {data} in"):
        released_victim(data, data_dir=tmp_path)


def test_weights_of_the_other_data_set_are_refused(tmp_path: Path) -> None:
    save_file(released_weights("ips"), tmp_path / "victim.safetensors")
    with pytest.raises(FileError, match="expected the weights of the authors' model for splice_paper"):
        released_victim("splice_paper", data_dir=tmp_path)


def test_only_some_data_sets_have_released_weights(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the data set ips or splice_paper for released weights, got 'imdb'"):
        released_victim("imdb", data_dir=tmp_path)


def test_a_foreign_file_is_read_without_running_it(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save({"a": torch.ones(2), "model": torch.nn.Linear(2, 2)}, path)  # a whole module: code
    with pytest.raises(FileError, match="expected whole safetensors or a state dict of plain tensors"):
        foreign_tensors(path)
    torch.save({"a": 1}, path)
    with pytest.raises(FileError, match="expected a mapping from names to tensors"):
        foreign_tensors(path)
    for content in (b"", b"text", pickle.dumps(Hostile())):
        path.write_bytes(content)
        with pytest.raises(FileError, match="another or a damaged file"):
            foreign_tensors(path)
    assert RAN == []
    save_file({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    assert torch.equal(foreign_tensors(tmp_path / "model.safetensors")["a"], torch.ones(2))
    (tmp_path / "model.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes()[:-3])
    with pytest.raises(FileError, match="another or a damaged file"):
        foreign_tensors(tmp_path / "model.safetensors")


@needs("ips/ips_test.csv")
@needs("ips/victim.safetensors")
def test_the_authors_model_is_right_on_195_of_the_206_public_rows() -> None:
    test = ips.load(data_dir=DATA).test
    assert len(test) == 206
    assert round(accuracy(released_victim("ips", data_dir=DATA).victim, test) * 206) == 195


@needs("splice/splice_test.csv")
@needs("splice/victim.safetensors")
def test_the_authors_model_is_right_on_316_of_the_319_rows() -> None:
    test = splice_paper.load(data_dir=DATA).test
    assert len(test) == 319
    assert round(accuracy(released_victim("splice_paper", data_dir=DATA).victim, test) * 319) == 316
