"""The state of a training on disk: one safetensors file, written whole after every epoch. Never a pickle."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from hammingbox.errors import FileError
from hammingbox.files import read_bytes, write_bytes

STATE = "training.safetensors"

_ADDED_LATER = {"validation_sha256"}
"""Parts of the identity that the first version did not write."""


@dataclass(frozen=True, eq=False)
class TrainingState:
    """What a killed training needs to continue.

    Attributes:
        identity: the arguments of the training; the state of another training is refused.
        groups: tensors, by owner and name.
        numbers: everything that fits JSON.
    """

    identity: dict[str, Any]
    groups: dict[str, dict[str, Tensor]]
    numbers: dict[str, Any]


def write_state(folder: Path, state: TrainingState) -> None:
    """Writes the state, from any device, as one file: a kill leaves the old file or the new one, never a mixture."""
    tensors = {
        f"{owner}/{name}": tensor.detach().cpu().clone().contiguous()
        for owner, group in state.groups.items()
        for name, tensor in group.items()
    }
    metadata = {"identity": json.dumps(state.identity), "numbers": json.dumps(state.numbers)}
    write_bytes(folder / STATE, save(tensors, metadata))


def read_state(folder: Path, identity: dict[str, Any]) -> TrainingState | None:
    """The state in a folder, with its tensors on the CPU; None if there is none.

    Raises:
        FileError: it is damaged, or of a training with other arguments.
    """
    path = folder / STATE
    if not path.exists():
        return None
    remedy = "Choose another folder, or delete the file to start again."
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        tensors = load(read_bytes(path))
        own, numbers = json.loads(metadata["identity"]), json.loads(metadata["numbers"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise FileError(
            f"expected the state of a training in {path}, got a damaged file ({error}). {remedy}"
        ) from error
    wanted = json.loads(json.dumps(identity))
    compared = (own.keys() | wanted.keys()) - (_ADDED_LATER - own.keys())
    if other := ", ".join(sorted(key for key in compared if own.get(key) != wanted.get(key))):
        raise FileError(f"expected the state of this training in {path}, got one with another {other}. {remedy}")
    groups: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        owner, _, name = key.partition("/")
        groups.setdefault(owner, {})[name] = tensor
    return TrainingState(own, {"defence": {}, "optimiser": {}} | groups, numbers)


def forget_state(folder: Path) -> None:
    """Deletes the state of a finished training; its checkpoint replaces it."""
    (folder / STATE).unlink(missing_ok=True)
