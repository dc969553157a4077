"""Checkpoints: weights as safetensors, everything else as JSON, both bound to a schema. Never a pickle."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch.overrides import TorchFunctionMode

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, unknown_name
from hammingbox.files import (
    damage_as_file_error,
    exists,
    read_bytes,
    read_json,
    sha256,
    shown,
    write_bytes,
    write_json,
)
from hammingbox.victims.frozen import bytes_of
from hammingbox.victims.shipped import checkpoint_folder, shipped_folder, shipped_names
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build

WEIGHTS, CONFIG = "model.safetensors", "config.json"
_MOST_PARTS, _LARGEST_SETTING = 64, 1_000_000
"""Items of a setting that is a list, and the largest whole number in a setting."""
_SPARE_ELEMENTS = 1_000_000
"""Elements of buffers that a checkpoint does not hold."""
_FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.eye)


@dataclass(frozen=True)
class Checkpoint:
    """A victim with everything that is needed to build it again.

    Attributes:
        victim: in eval mode.
        model: its name in `VICTIMS`.
        settings: the settings it was built with.
        schema: what its ids mean.
        training: how it was trained: data, configuration, accuracies.
    """

    victim: Victim
    model: str
    settings: dict[str, Any]
    schema: Schema
    training: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Writes the checkpoint, from any device. The configuration comes last and holds the hash of the weights."""
        weights = save_tensors({k: v.detach().cpu().contiguous() for k, v in self.victim.state_dict().items()})
        write_bytes(folder / WEIGHTS, weights)
        write_json(
            folder / CONFIG,
            {
                "model": self.model,
                "settings": self.settings,
                "weights_sha256": sha256(weights),
                "schema_digest": self.schema.digest,
                "schema": self.schema.to_json(),
                "training": self.training,
            },
        )


def load_checkpoint(path: Path | str, *, schema: Schema | None = None) -> Checkpoint:
    """Reads a checkpoint. Its victim is on the CPU; `victim.to(device)` moves it.

    Args:
        path: the folder, a file in it, or the name of a shipped victim such as splice/padvt.
        schema: if given, a checkpoint with another schema is refused. Other numbers and dates in the same columns are
            no other schema: the victim is built for them.

    Raises:
        FileError: it is missing, damaged, or has another schema.
        InputError: the name of a shipped victim that is also a folder here.
    """
    folder = checkpoint_folder(Path(path))
    if not exists(folder / CONFIG):
        shipped = f", or name a shipped victim ({', '.join(shipped_names())})" if shipped_names() else ""
        raise FileError(
            f"expected a checkpoint ({CONFIG} and {WEIGHTS}) in {shown(folder)}, got none. "
            f"Make one with `hammingbox train`{shipped}."
        )
    config = read_json(folder / CONFIG)
    weights = read_bytes(folder / WEIGHTS)
    with damage_as_file_error(folder, "a whole checkpoint"):
        own = Schema.from_json(config["schema"])
        if sha256(weights) != config["weights_sha256"]:
            raise FileError(
                f"expected the weights that {folder / CONFIG} names, got another or a truncated {WEIGHTS}. Train again."
            )
        if schema is not None and schema.form_digest != own.form_digest:
            raise FileError(
                f"expected a checkpoint for this data's schema ({_outline(schema)}), "
                f"got one for another ({_outline(own)}). "
                "Train a model on this data, or name the data the model was trained on."
            )
        own = own if schema is None else schema
        victim = _built(config["model"], own, config["settings"], load_tensors(weights))
        training = config.get("training") or {}
        if not isinstance(training, dict):
            raise ValueError("a training that is no object")
    return Checkpoint(victim.eval(), config["model"], config["settings"], own, training)


def _built(model: str, schema: Schema, settings: dict[str, Any], weights: dict[str, torch.Tensor]) -> Victim:
    """The victim with its weights.

    Settings of a damaged file may ask for any size. The weights say which size the model really has, so much more than
    they have is not allocated.

    Raises:
        ValueError: settings that ask for more.
        RuntimeError: weights of other names or shapes than the model's.
    """
    for name, value in settings.items():
        parts = value if isinstance(value, list) else [value]
        if len(parts) > _MOST_PARTS or any(isinstance(part, int) and abs(part) > _LARGEST_SETTING for part in parts):
            raise ValueError(f"the setting {name!r} is out of range")
    with _AllocationLimit(_SPARE_ELEMENTS + 4 * sum(tensor.numel() for tensor in weights.values())):
        victim = build(model, schema, **settings)
    victim.load_state_dict(weights)
    return victim


class _AllocationLimit(TorchFunctionMode):
    """Inside it, new tensors have together at most so many elements.

    Building a model on the meta device would do the same, but its first use in a process takes two seconds.
    """

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._left = elements

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Counts what a factory function is about to make."""
        kwargs = kwargs or {}
        if function in _FACTORIES:
            size = kwargs.get("size", args)
            shape = size[0] if size and isinstance(size[0], Sequence) else size
            elements = prod(part for part in shape if isinstance(part, int))
            self._left -= elements**2 if function is torch.eye else elements
            if self._left < 0:
                raise ValueError("settings that ask for a larger model than its weights are")
        return function(*args, **kwargs)


def load_victim(name: str) -> Victim:
    """A trained victim that comes with the package, on the CPU and in eval mode.

    `load_checkpoint` takes the same names and also gives the record of the training.

    Args:
        name: such as splice/padvt; `hammingbox victims` lists the names.

    Raises:
        InputError: an unknown name.
    """
    folder = shipped_folder(name)
    if folder is None:
        raise unknown_name("shipped victim", name, shipped_names())
    return load_checkpoint(folder).victim


def foreign_tensors(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file that another program wrote, on the CPU: safetensors, or a state dict from ``torch.save``.

    The second is read with ``weights_only=True``, which never runs code from the file.

    Raises:
        FileError: the file is missing, damaged, or not a mapping from names to tensors.
    """
    content = read_bytes(path)
    try:
        if path.suffix == ".safetensors":
            return load_tensors(content)
        value = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file may raise any error inside the reader
        reason = str(error).split("\n")[0]
        raise FileError(
            f"expected whole safetensors or a state dict of plain tensors in {path}, got another or a damaged file "
            f"({reason}). Save `model.state_dict()` with safetensors."
        ) from error
    if not isinstance(value, dict) or not all(isinstance(part, torch.Tensor) for part in value.values()):
        raise FileError(
            f"expected a mapping from names to tensors in {path}, got {type(value).__name__}. "
            "Save `model.state_dict()` with safetensors."
        )
    return value


def weights_digest(victim: Victim) -> str:
    """What identifies a victim: the hash of its parameters and buffers with their names.

    A black box has none. The hash of its name identifies it, or else the hash of the content of its file.
    """
    state = sorted(victim.state_dict().items())
    if not state:
        return sha256(victim.name.encode()) if victim.name or not victim.identity else victim.identity
    return sha256(*(name.encode() + bytes_of(tensor) for name, tensor in state))


def _outline(schema: Schema) -> str:
    return f"{len(schema.features)} features, {sum(schema.cardinalities)} categories, {len(schema.classes)} classes"
