"""What a worker holds: the parts of a run, and the run it computes batches of. The same for every kind of worker."""

import os
import pickle
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from time import monotonic, perf_counter
from typing import Any

import cloudpickle
import numpy as np
import torch

from hammingbox.errors import HammingboxError, InputError, VictimRaisedError
from hammingbox.evaluation.environment import git_revision, versions
from hammingbox.evaluation.rows import Rows
from hammingbox.running.attempts import reason_of
from hammingbox.running.carried_rows import Arrays, unpack_rows
from hammingbox.running.run_spec import Places, RunSpec
from hammingbox.running.sending import Fetch, Key, unpack
from hammingbox.victims.pass_watch import watching_passes
from hammingbox.victims.victim import Victim

_EVERY = 0.5
"""Seconds between two messages about passes."""

Answer = tuple[list[np.ndarray[Any, np.dtype[Any]]], float, int] | bytes
"""What became of a batch: the fields of its rows, the seconds it took, and the passes that nobody was told about; or a
pickled error."""


@dataclass
class Workbench:
    """One worker's parts and run. Torch uses one thread here: workers are as many as there are cores.

    Attributes:
        fetch: finds shared tensors.
        device: where the victim runs; None leaves it where it was.
    """

    fetch: Fetch
    device: str | None = None

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        self._parts: dict[Key, object] = {}
        self._spec: RunSpec | None = None

    def prepare(self, parts: Mapping[Key, bytes], run: bytes, needed: Collection[Key]) -> None:
        """Takes the parts that are new, forgets those that the run does not need, and makes the run.

        Raises:
            InputError: something cannot be rebuilt here.
        """
        self._spec = None
        self._parts = {key: part for key, part in self._parts.items() if key in needed}
        self._parts |= {key: self._rebuilt(key, content) for key, content in parts.items()}
        for key in needed:
            if isinstance(found := self._parts[key], InputError):
                raise found
        self._spec = unpack(run, self.fetch, self._parts)

    def _rebuilt(self, key: Key, content: bytes) -> object:
        """A part, or the error that is raised when a run needs it: the driver sends a part only once."""
        try:
            part = unpack(content, self.fetch, {})
            if isinstance(part, Victim):
                part = part.eval() if self.device is None else part.to(self.device).eval()
        except Exception as error:  # a module that is not installed here, or whatever the user's code raises
            return InputError(
                f"expected to rebuild the {key[0]} in a worker, got {reason_of(error)}. "
                "Its module must be importable there: install it, or leave out --workers and --ray."
            )
        return part

    def compute(
        self, places: Places, sent: Arrays | None = None, on_passes: Callable[[int], None] | None = None
    ) -> Answer:
        """Computes a batch of the run; an error is part of the answer.

        Args:
            places: of the rows.
            sent: the rows themselves, where they are not among what the run was sent with.
            on_passes: called now and then, if at all, with the passes since the last call; the rest are in the answer,
                because a message of its own for each batch would take longer than small batches do.
        """
        spec, passes, told = self._spec, 0, monotonic()
        if spec is None:
            return packed_error(InputError("expected a run before its batches, got none."))

        def count(rows: int) -> None:
            nonlocal passes, told
            passes += rows
            if on_passes is not None and monotonic() - told > _EVERY:
                on_passes(passes)
                passes, told = 0, monotonic()

        begin = perf_counter()
        try:
            with watching_passes(count):
                rows = spec.compute(places) if sent is None else spec.compute_rows(unpack_rows(spec.data, sent))
        except Exception as error:
            return packed_error(error)
        return [getattr(rows, field.name).numpy() for field in fields(rows)], perf_counter() - begin, passes


def rows_of(arrays: list[np.ndarray[Any, np.dtype[Any]]]) -> Rows:
    """The rows of an answer. The arrays were unpickled here, so they are nobody else's."""
    return Rows(*(torch.from_numpy(array if array.flags.writeable else array.copy()) for array in arrays))


def packed_error(error: Exception) -> bytes:
    """An error as it is sent; one that cannot be rebuilt elsewhere is sent in words."""
    try:
        content: bytes = cloudpickle.dumps(error)
        pickle.loads(content)
    except Exception:  # an error of the user's with arguments of its own
        return cloudpickle.dumps(_in_words(error))
    return content


def unpacked_error(content: bytes) -> Exception:
    """An error that a worker sent."""
    try:
        found: Exception = pickle.loads(content)
    except Exception as error:  # its class is not importable here
        return VictimRaisedError(f"expected the victim to answer, got an error of a worker ({reason_of(error)}).")
    return found


def _in_words(error: Exception) -> HammingboxError:
    if isinstance(error, HammingboxError):
        kind = next(k for k in type(error).__mro__ if k.__module__.startswith("hammingbox."))
        return kind(str(error))
    return VictimRaisedError(f"expected the victim to answer, got {reason_of(error)}")


def own_versions() -> dict[str, Any]:
    """What must be the same in all processes of a run."""
    return {**versions(), "git": git_revision()}


def check_versions(theirs: Mapping[str, Any], where: str) -> None:
    """Refuses a worker of other versions: its records would be those of another program.

    Raises:
        InputError: names the first difference.
    """
    for name, own in own_versions().items():
        other = theirs.get(name)
        if name == "python":
            own, other = (".".join(str(version).split(".")[:2]) for version in (own, other))
        if own != other and None not in (own, other):
            raise InputError(
                f"expected {name} {own} {where} as here, got {other}. Install the same versions on all machines, "
                "for example from one container image."
            )


def machine() -> str:
    """Which machine and process this is, for messages."""
    return f"process {os.getpid()} on {os.uname().nodename if hasattr(os, 'uname') else 'this machine'}"
