"""Weights that the authors of PCAA released, loaded into models of this package."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hammingbox.data import ips, splice
from hammingbox.data.fetch import find_file, missing_file
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.files import file_sha256
from hammingbox.victims.checkpoint import Checkpoint, foreign_tensors
from hammingbox.victims.zoo.registry import build

_NAMES = {
    "lstm.": "lstm.",
    "attention.projection.": "attention.",
    "fc.": "output.",
}
"""Beginnings of names in the authors' files, and in this package's LSTM."""


@dataclass(frozen=True)
class Released:
    """Where released weights are found and which LSTM they belong to.

    Attributes:
        folder: the folder of the file inside the data folder.
        authors_file: name of the file in the authors' repository.
        schema: of the data set.
        settings: of this package's LSTM.
    """

    folder: str
    authors_file: str
    schema: Schema
    settings: Mapping[str, Any]

    @property
    def files(self) -> list[str]:
        """Names that the file may have, the preferred one first."""
        return ["victim.safetensors", self.authors_file]


_COMMON = {"positions": "none", "bidirectional": False, "dropout": 0.5}

RELEASED: dict[str, Released] = {
    "ips": Released("ips", "Mal_RNN.942", ips.SCHEMA, _COMMON | {"dim": 70, "hidden": 70}),
    "splice_paper": Released(
        "splice", "Adam_RNN.4832", splice.SCHEMA, _COMMON | {"dim": 30, "hidden": 30, "layers": 4}
    ),
}
"""Released victims by the name of their data set. They classify 195 of 206 rows (IPS) and 316 of 319 (Splice)."""


def released_victim(data: str, *, data_dir: Path | None = None) -> Checkpoint:
    """The LSTM that the authors of PCAA released for a data set.

    The authors' model averages relu(w) over d one-hot categories, so the vector of a category is relu(w) / d. A soft
    row mixes exactly these vectors. They are written into the embedding table, which makes the model an ordinary LSTM.
    The final softmax is dropped: the model returns logits.

    Args:
        data: name of the data set.
        data_dir: a folder with victim.safetensors or the authors' own file.

    Raises:
        InputError: they released no weights for this data set.
        FileError: the file is missing or holds other weights.
    """
    if data not in RELEASED:
        known = " or ".join(RELEASED)
        raise InputError(f"expected the data set {known} for released weights, got {data!r}. Train a model instead.")
    released = RELEASED[data]
    path = find_file(released.folder, released.files, data_dir=data_dir)
    if path is None:
        raise missing_file(released.folder, released.files, data_dir=data_dir)
    tensors = foreign_tensors(path)
    settings = dict(released.settings)
    victim = build("lstm", released.schema, **settings)
    try:
        state = {
            own + name.removeprefix(theirs): tensor
            for name, tensor in tensors.items()
            for theirs, own in _NAMES.items()
            if name.startswith(theirs)
        }
        state["embedding.table.weight"] = tensors["embed.weight"].relu() / released.schema.cardinalities[0]
        victim.load_state_dict(state)
    except (KeyError, RuntimeError) as error:
        raise FileError(
            f"expected the weights of the authors' model for {data} in {path}, got others ({error}). "
            "Get the file again."
        ) from error
    return Checkpoint(
        victim.eval(), "lstm", settings, released.schema, {"source": path.name, "source_sha256": file_sha256(path)}
    )
