"""Weights that were released by others, loaded into models of this package."""

from pathlib import Path
from typing import Any

from hammingbox.data import ips
from hammingbox.data.fetch import find_file, missing_file
from hammingbox.errors import FileError
from hammingbox.victims.checkpoint import Checkpoint, foreign_tensors
from hammingbox.victims.zoo.registry import build

_IPS_FILES = ["victim.safetensors", "Mal_RNN.942"]
_IPS_NAMES = {
    "lstm.": "lstm.",
    "attention.projection.": "attention.",
    "fc.": "output.",
}
"""Beginnings of names in the authors' file, and in this package's LSTM."""


def ips_lstm(*, data_dir: Path | None = None) -> Checkpoint:
    """The LSTM that the authors of PCAA released for IPS. It classifies 195 of the 206 public rows (94.66 %).

    The authors' model averages relu(w) over 1,104 one-hot categories, so the vector of an event is relu(w) / 1104. A
    soft row mixes exactly these vectors. They are written into the embedding table, which makes the model an ordinary
    LSTM. The final softmax is dropped: the model returns logits.

    Args:
        data_dir: a folder with victim.safetensors or the authors' own file Mal_RNN.942.

    Raises:
        FileError: the file is missing or holds other weights.
    """
    path = find_file("ips", _IPS_FILES, data_dir=data_dir)
    if path is None:
        raise missing_file("ips", _IPS_FILES, data_dir=data_dir)
    tensors = foreign_tensors(path)
    settings: dict[str, Any] = {"positions": "none", "dim": 70, "hidden": 70, "bidirectional": False, "dropout": 0.5}
    victim = build("lstm", ips.SCHEMA, **settings)
    try:
        state = {
            own + name.removeprefix(theirs): tensor
            for name, tensor in tensors.items()
            for theirs, own in _IPS_NAMES.items()
            if name.startswith(theirs)
        }
        state["embedding.table.weight"] = tensors["embed.weight"].relu() / len(ips.SCHEMA.features[0].categories)
        victim.load_state_dict(state)
    except (KeyError, RuntimeError) as error:
        raise FileError(
            f"expected the weights of the authors' IPS model in {path}, got others ({error}). Get the file again."
        ) from error
    return Checkpoint(victim.eval(), "lstm", settings, ips.SCHEMA, {"source": path.name})
