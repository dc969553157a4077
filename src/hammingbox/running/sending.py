"""What is sent to workers: a run in a few hundred bytes, and its large parts (victim, data, space) once per worker.

Parts are told apart by their content: a victim that was trained or fitted further between two runs is sent again.

Values travel between processes of one user's own program, which is the only place where this package pickles anything:
no file and no stranger's bytes are ever unpickled. A victim of a file is sent as what was read from it.
"""

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, runtime_checkable

import cloudpickle
import torch
from torch import Tensor

from hammingbox.errors import InputError
from hammingbox.files import sha256
from hammingbox.running.attempts import reason_of
from hammingbox.running.carried_rows import is_carried, without_rows
from hammingbox.running.run_spec import RunSpec


@runtime_checkable
class Tables(Protocol):
    """Memory that every worker can read."""

    def share(self, tensor: Tensor) -> Any:
        """Puts a large tensor there; what is given back names it."""

    def forget(self, name: Any) -> None:
        """Gives the memory of a tensor back; workers that read it keep it as long as they need it."""


Fetch = Callable[[Any], Tensor]
"""Finds a tensor by what `Tables.share` gave back."""

SHARED = 2**20
"""Bytes from which a tensor is shared and not copied to every worker."""

_WHOLE = (torch.uint8, torch.int16, torch.int32, torch.int64)

Key = tuple[str, str]
"""What identifies a part: what it is, and the hash of its content."""


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
    """Packs runs one after the other. A table that two runs share is shared once, and forgotten with the last of them.

    Args:
        tables: for large tensors.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._shared: dict[str, Any] = {}
        self._used: set[str] = set()
        self._numbers = count()

    def pack(self, spec: RunSpec) -> Parcel:
        """The run as bytes. Tables of earlier runs that it does not need are given back.

        Raises:
            InputError: the victim, the space, the goal or the method cannot be sent.
        """
        self._used = set()
        data = without_rows(spec.data) if is_carried(spec.data) else spec.data
        parts: dict[Key, bytes] = {}
        names: dict[int, Key] = {}
        for what, part, sent in (
            ("victim", spec.victim, spec.victim),
            ("data", spec.data, data),
            ("space", spec.threat.space, spec.threat.space),
        ):
            content = self._bytes(what, sent, {})
            names[id(part)] = key = what, sha256(content)
            parts[key] = content
        run = self._bytes("run", spec, names)
        for digest in self._shared.keys() - self._used:
            self._tables.forget(self._shared.pop(digest))
        return Parcel(parts, run, next(self._numbers))

    def _bytes(self, what: str, value: object, names: Mapping[int, Key]) -> bytes:
        file = io.BytesIO()
        try:
            _Pickler(file, self._share, names).dump(value)
        except Exception as error:  # whatever an object of the user's raises when it is pickled
            kind = type(value.attack if isinstance(value, RunSpec) else value).__name__
            raise InputError(
                f"expected a {what} that can be sent to other processes, got {kind}: {reason_of(error)}. "
                "Give its class a `__getstate__` that leaves out what cannot be sent (locks, connections, open files), "
                "or leave out --workers and --ray."
            ) from error
        return file.getvalue()

    def _share(self, tensor: Tensor) -> Any:
        """The name of a large tensor, which has one for as long as runs need its content."""
        content = tensor.reshape(-1).view(torch.uint8).numpy()
        digest = sha256(f"{tensor.dtype} {tuple(tensor.shape)} ".encode(), content.data)
        self._used.add(digest)
        if digest not in self._shared:
            self._shared[digest] = self._tables.share(tensor)
        return self._shared[digest]


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Names parts and shared tensors in place of their content."""

    def __init__(self, file: io.BytesIO, share: Callable[[Tensor], Any], names: Mapping[int, Key]) -> None:
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

    def reducer_override(self, value: Any) -> Any:
        """Small tables of whole numbers as arrays: torch writes addresses too, and equal tables would seem changed."""
        is_table = type(value) is Tensor and value.device.type == "cpu" and value.layout == torch.strided
        if is_table and value.dtype in _WHOLE and value.untyped_storage().nbytes() == value.nbytes:
            return torch.from_numpy, (value.numpy(),)
        return super().reducer_override(value)


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
