"""What is sent to workers: a run in a few hundred bytes, and its large parts (victim, data, space) once per worker.

Values travel between processes of one user's own program, which is the only place where this package pickles anything:
no file and no stranger's bytes are ever unpickled. A victim of a file is sent as what was read from it.
"""

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import cloudpickle
import torch
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.running.attempts import reason_of
from hammingbox.running.carried_rows import is_carried, without_rows
from hammingbox.running.run_spec import RunSpec
from hammingbox.victims.checkpoint import weights_digest

Share = Callable[[Tensor], Any]
"""Puts a large tensor where every worker can read it, and gives back what names it there."""
Fetch = Callable[[Any], Tensor]
"""Finds a tensor by what `Share` gave back."""

SHARED = 2**20
"""Bytes from which a tensor is shared and not copied to every worker."""

Key = tuple[str, int, str]
"""What identifies a part: what it is, which object, and the weights it has now."""


@dataclass(frozen=True)
class Parcel:
    """A run as it is sent.

    Attributes:
        parts: victim, data and space, pickled; each is sent to a worker that does not have it yet.
        run: the rest, pickled; it names the parts.
        number: tells the run from earlier ones.
    """

    parts: Mapping[Key, bytes]
    run: bytes
    number: int


class Packing:
    """Packs runs one after the other; what two runs share is packed once.

    Args:
        share: for large tensors.
    """

    def __init__(self, share: Share) -> None:
        self._share = share
        self._held: dict[Key, tuple[object, bytes]] = {}
        self._numbers = count()

    def pack(self, spec: RunSpec) -> Parcel:
        """The run as bytes. Parts of the run before that it does not have are forgotten.

        Raises:
            InputError: the victim, the space, the goal or the method cannot be sent.
        """
        parts = {
            ("victim", id(spec.victim), weights_digest(spec.victim)): spec.victim,
            ("data", id(spec.data), ""): spec.data,
            ("space", id(spec.threat.space), ""): spec.threat.space,
        }
        # The objects are held with their bytes, so that no other object gets their identity.
        self._held = {key: self._held.get(key) or (part, self._part(key[0], part)) for key, part in parts.items()}
        names = {id(part): key for key, part in parts.items()}
        run = self._bytes("run", spec, names)
        return Parcel({key: content for key, (_, content) in self._held.items()}, run, next(self._numbers))

    def _part(self, what: str, part: object) -> bytes:
        sent = without_rows(part) if isinstance(part, Dataset) and is_carried(part) else part
        return self._bytes(what, sent)

    def _bytes(self, what: str, value: object, names: Mapping[int, Key] | None = None) -> bytes:
        file = io.BytesIO()
        try:
            _Pickler(file, self._share, names or {}).dump(value)
        except Exception as error:  # whatever an object of the user's raises when it is pickled
            kind = type(value.attack if isinstance(value, RunSpec) else value).__name__
            raise InputError(
                f"expected a {what} that can be sent to other processes, got {kind}: {reason_of(error)}. "
                "Give its class a `__getstate__` that leaves out what cannot be sent (locks, connections, open files), "
                "or leave out --workers and --ray."
            ) from error
        return file.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Names parts and shared tensors in place of their content."""

    def __init__(self, file: io.BytesIO, share: Share, names: Mapping[int, Key]) -> None:
        super().__init__(file)
        self._share, self._names = share, names

    def persistent_id(self, value: Any) -> Any:
        if id(value) in self._names:
            return "part", self._names[id(value)]
        if type(value) is Tensor and value.layout == torch.strided and not value.requires_grad:
            # A tensor of a device is sent through memory: the worker may own another device, or none.
            if value.device.type != "cpu":
                value = value.detach().cpu()
                return "tensor", (value.numpy() if value.nbytes < SHARED else self._share(value.contiguous()))
            if value.nbytes >= SHARED:
                return "tensor", self._share(value.contiguous())
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, fetch: Fetch, parts: Mapping[Key, object]) -> None:
        super().__init__(io.BytesIO(content))
        self._fetch, self._parts = fetch, parts

    def persistent_load(self, name: Any) -> Any:
        kind, value = name
        return self._parts[value] if kind == "part" else self._fetch(value)


def unpack(content: bytes, fetch: Fetch, parts: Mapping[Key, object]) -> Any:
    """What `Packing` packed."""
    return _Unpickler(content, fetch, parts).load()
