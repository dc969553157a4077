"""`RayCluster`: a run on the machines of a Ray cluster. Actors compute, the driver alone records."""

import importlib
import logging
import platform
import signal
import socket
import sys
import threading
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from hammingbox.errors import WorkerError, missing_library
from hammingbox.running.attempts import reason_of
from hammingbox.running.carried_rows import Arrays
from hammingbox.running.dispatch import Computed, Crew, CrewExecutor, Died, Passed, Raised, Report, depth_of
from hammingbox.running.freed_memory import keep_freed_memory
from hammingbox.running.run_spec import Places, RunSpec
from hammingbox.running.sending import Key, Packing, Parcel
from hammingbox.running.workbench import (
    Answer,
    Workbench,
    check_versions,
    own_versions,
    packed_error,
    rows_of,
    unpacked_error,
)
from hammingbox.settings import whole_number

_REACHABLE = 5.0
"""Seconds for a cluster to accept a connection."""
_PATIENCE = 900.0
"""Seconds to wait for an actor when there is none: machines of a cloud, and workers of a busy one, start in minutes."""
_LOOK = 1.0
"""Seconds between two looks at the clock while nothing happens."""
_FAILED_STARTS = 3
"""Actors in a row that end before they are ready, while nobody computes a batch."""


class RayCluster(CrewExecutor):
    """Computes batches in actors of a Ray cluster (extra ``ray``). Records are those of `Serial`, in whatever order.

    Victim, data and space are put into the cluster once, and each actor holds the victim with one thread of torch.
    Every machine needs the same versions of Python, ray, torch, NumPy and this package.

    Args:
        address: "auto" for the cluster this machine is part of, "HOST:PORT", or "ray://HOST:PORT" for a cluster that
            is reached from outside. A connection that the program has made with ``ray.init`` is used as it is.
        workers: actors at most; one per core of the cluster by default, or one per GPU.
        device: where victims run; "cuda" gives every actor a GPU of its own.

    Raises:
        InputError: ray is not installed.
    """

    def __init__(self, address: str = "auto", *, workers: int | None = None, device: str | None = None) -> None:
        super().__init__()
        self.address, self.device = address, device
        self.workers = None if workers is None else whole_number("workers", workers, most=100_000)
        self._ray = _imported()
        self._crew: _RayCrew | None = None
        self._end: finalize[Any, RayCluster] | None = None

    def crew(self) -> Crew:
        """The actors, started now if there are none.

        Raises:
            WorkerError: there is no such cluster, or it has no such device.
        """
        if self._crew is None:
            mine = not self._ray.is_initialized()
            if mine:
                _connect(self._ray, self.address)
            try:
                self._crew = _RayCrew(self._ray, self.workers, self.device, shut_down=mine)
            except BaseException:
                if mine:
                    self._ray.shutdown()
                raise
            self._end = finalize(self, self._crew.close)
        return self._crew

    def environment(self) -> dict[str, Any]:
        """One thread in each actor, and the platform of all of them."""
        platforms = set() if self._crew is None else self._crew.platforms
        named = {"platform": " and ".join(sorted(platforms))} if platforms else {}
        return {"threads": 1, "executor": repr(self), **named}

    def close(self) -> None:
        """Ends the actors, and the connection if it was made here."""
        if self._end is not None:
            self._end()
        self._crew, self._end = None, None

    def __repr__(self) -> str:
        return f"RayCluster({self.address!r})"


class RayWorker:
    """One actor.

    Args:
        device: where the victim runs.
        paths: where the driver finds modules; those folders that this machine has too are searched last.
    """

    def __init__(self, device: str | None, paths: Sequence[str] = ()) -> None:
        keep_freed_memory()
        sys.path += [path for path in paths if path not in sys.path and Path(path).is_dir()]
        self._tables: Mapping[int, Any] = {}
        self._bench = Workbench(self._fetch, device)

    def hello(self) -> tuple[dict[str, Any], str, str]:
        """Versions, machine and platform."""
        return own_versions(), socket.gethostname(), platform.platform()

    def prepare(self, parts: Mapping[Key, Any], run: bytes, needed: Sequence[Key], tables: Mapping[int, Any]) -> Any:
        """Takes a run; what is wrong with it, or None."""
        self._tables = tables
        try:
            contents = {key: _imported().get(part) for key, part in parts.items()}
            self._bench.prepare(contents, run, needed)
        except Exception as error:
            return packed_error(error)
        return None

    def compute(self, places: Any, rows: Arrays | None) -> Answer:
        """A batch, with its rows where the table is not shared."""
        return self._bench.compute(torch.from_numpy(np.array(places)), rows)

    def _fetch(self, name: Any) -> Tensor:
        """A shared tensor. Tables of ids stay in the memory of the machine, which nobody may write to."""
        array = name if isinstance(name, np.ndarray) else _imported().get(self._tables[name])
        if not np.issubdtype(array.dtype, np.integer):
            return torch.from_numpy(np.array(array))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of memory that cannot be written to
            return torch.from_numpy(array)


class _Actor:
    """An actor as the driver sees it."""

    def __init__(self, handle: Any, hello: Any) -> None:
        self.handle, self.hello = handle, hello
        self.tickets: deque[int] = deque()
        self.answers: dict[Any, int] = {}
        self.prepared: dict[Any, int] = {}
        self.held: set[Key] = set()
        self.is_ready, self.last = False, float("inf")

    @property
    def refs(self) -> list[Any]:
        """Everything that the driver waits for."""
        return [*self.prepared, *self.answers, *([] if self.is_ready else [self.hello])]

    @property
    def can_take(self) -> bool:
        return self.is_ready and len(self.tickets) < depth_of(self.last)


class _ClusterTables:
    """Large tensors in the cluster's memory."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._numbers = count()
        self.refs: dict[int, Any] = {}

    def share(self, tensor: Tensor) -> int:
        """Puts a tensor into the cluster; its number names it."""
        number = next(self._numbers)
        self.refs[number] = self._ray.put(tensor.numpy())
        return number

    def forget(self, number: int) -> None:
        """Ray gives the memory back when nobody refers to it: neither the driver nor an actor's run."""
        del self.refs[number]


class _RayCrew(Crew):
    """The actors of an executor. It does not refer to the executor, so that nobody keeps them for nothing."""

    def __init__(self, ray: Any, workers: int | None, device: str | None, *, shut_down: bool) -> None:
        self._ray, self._device, self._shut_down = ray, device, shut_down
        kind = "GPU" if str(device).startswith("cuda") else "CPU"
        there = int(ray.cluster_resources().get(kind, 0))
        self.size = max(1, there if workers is None else min(workers, max(there, 1)))
        if there == 0 and kind == "GPU":
            raise WorkerError("expected GPUs in the Ray cluster for --device cuda, got none. Use --device cpu.")
        self.platforms: set[str] = set()
        self._tables = _ClusterTables(ray)
        self._packing = Packing(self._tables)
        self._parts: dict[Key, Any] = {}
        self._parcel: Parcel | None = None
        self._failed_starts = 0
        self._actors = [self._start() for _ in range(self.size)]
        self._alone_since = monotonic()

    def _start(self) -> _Actor:
        gpus = {"num_gpus": 1} if str(self._device).startswith("cuda") else {}
        kind = self._ray.remote(RayWorker).options(
            num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD", **gpus
        )
        # Ray shows an actor the GPUs that it owns, and no others.
        handle = kind.remote("cuda" if gpus else self._device, [*filter(None, sys.path), str(Path.cwd())])
        return _Actor(handle, handle.hello.remote())

    def prepare(self, spec: RunSpec) -> None:
        """Puts what is new of a run into the cluster and tells every actor about it."""
        self._alone_since = monotonic()  # nobody looked for actors between two runs
        self._parcel = self._packing.pack(spec)
        for key, content in self._parcel.parts.items():
            if key not in self._parts:
                self._parts[key] = self._ray.put(content)
        self._parts = {key: self._parts[key] for key in self._parcel.parts}
        for actor in self._actors:
            if actor.is_ready:
                self._tell(actor, self._parcel)

    def _tell(self, actor: _Actor, parcel: Parcel) -> None:
        new = {key: part for key, part in self._parts.items() if key not in actor.held}
        told = actor.handle.prepare.remote(new, parcel.run, list(parcel.parts), self._tables.refs)
        actor.prepared[told] = parcel.number
        actor.held = set(parcel.parts)

    def is_ready(self) -> bool:
        """Whether the cluster has started all actors."""
        return all(actor.is_ready for actor in self._actors)

    def has_room(self) -> bool:
        """Whether some actor is idle, or about to be."""
        return any(actor.can_take for actor in self._actors)

    def give(self, ticket: int, places: Places, rows: Arrays | None) -> None:
        """Gives a batch to the actor with the fewest."""
        actor = min((actor for actor in self._actors if actor.can_take), key=lambda actor: len(actor.tickets))
        actor.tickets.append(ticket)
        actor.answers[actor.handle.compute.remote(places.numpy(), rows)] = ticket

    def wait(self) -> Report:
        """Waits until an actor answers or is gone."""
        while True:
            whose = {ref: actor for actor in self._actors for ref in actor.refs}
            done, _ = self._ray.wait(list(whose), num_returns=1, timeout=_LOOK)
            if not done:
                self._check_alone()
                continue
            actor = whose[done[0]]
            try:
                found = self._ray.get(done[0])
            except self._ray.exceptions.RayError as error:
                return self._replace(actor, reason_of(error))
            if done[0] in actor.answers:
                return self._answered(actor, done[0], found)
            if done[0] in actor.prepared:
                number = actor.prepared.pop(done[0])
                # A run that was broken off is nobody's any more.
                if found is not None and self._parcel is not None and number == self._parcel.number:
                    raise unpacked_error(found)
                continue
            versions, where, system = found
            check_versions(versions, f"on {where} of the Ray cluster")
            self.platforms.add(system)
            actor.is_ready, self._failed_starts = True, 0
            if self._parcel is not None:
                self._tell(actor, self._parcel)
            return Passed(0)

    def _answered(self, actor: _Actor, ref: Any, answer: Answer) -> Report:
        ticket = actor.answers.pop(ref)
        actor.tickets.remove(ticket)
        if isinstance(answer, bytes):
            return Raised(ticket, unpacked_error(answer))
        arrays, actor.last, passes = answer
        self._failed_starts = 0  # the run goes on, whatever happens to an actor that is to join
        return Computed(ticket, rows_of(arrays), actor.last, passes)

    def _replace(self, actor: _Actor, reason: str) -> Died:
        """Starts an actor in place of one that is gone, on whatever machine has a free core.

        Raises:
            WorkerError: actors do not get as far as to be ready.
        """
        with suppress(Exception):  # whether or not it can still be reached
            self._ray.kill(actor.handle)
        if not actor.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS:
                raise WorkerError(
                    f"expected actors to start in the Ray cluster, got {self._failed_starts} in a row that ended: "
                    f"{reason}. Install the same versions of Python, ray and hammingbox on every machine."
                )
        self._actors[self._actors.index(actor)] = self._start()
        tickets = list(actor.tickets)
        return Died(tickets[0] if tickets else None, tickets[1:], f"it is gone from the Ray cluster ({reason})")

    def _check_alone(self) -> None:
        """Gives up when the cluster has had no core for us for long.

        Raises:
            WorkerError: it has none.
        """
        if any(actor.is_ready for actor in self._actors):
            self._alone_since = monotonic()
        elif monotonic() - self._alone_since > _PATIENCE:
            raise WorkerError(
                f"expected an actor to start on a free core of the Ray cluster, got none in {_PATIENCE / 60:.0f} "
                "minutes. See `ray status`; the same command goes on when there is one."
            )

    def close(self) -> None:
        """Ends all actors."""
        actors, self._actors = self._actors, []
        with suppress(Exception):  # the cluster may be gone
            for actor in actors:
                self._ray.kill(actor.handle)
        if self._shut_down:
            self._ray.shutdown()


def _imported() -> Any:
    """Ray.

    Raises:
        InputError: it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise missing_library("ray", "ray", "for --ray", error) from error


def _connect(ray: Any, address: str) -> None:
    """Joins a cluster that is there; none is started.

    Raises:
        WorkerError: there is none, or one of another version.
    """
    remedy = "Start one with `ray start --head`, give its HOST:PORT, or use --workers for this machine alone."
    _check_reachable(address, remedy)
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except ConnectionError as error:
        raise WorkerError(f"expected a Ray cluster at {address!r}, got none ({reason_of(error)}). {remedy}") from error
    except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        raise WorkerError(
            f"expected a Ray cluster at {address!r} of this version of Python and ray ({ray.__version__}), "
            f"got: {reason_of(error)}. Install the same versions on all machines."
        ) from error
    finally:
        if is_main and handler is not None:  # Ray takes the signal that lets a command end in order
            signal.signal(signal.SIGTERM, handler)


def _check_reachable(address: str, remedy: str) -> None:
    """Asks at the port first: Ray itself would try for minutes.

    Raises:
        WorkerError: nothing listens there, or this is no address.
    """
    if address == "auto":
        return
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        place = parts.hostname, parts.port
    except ValueError:  # a port that is no number
        place = None, None
    if None in place or parts.scheme not in ("", "ray"):
        raise WorkerError(f"expected HOST:PORT, ray://HOST:PORT or auto for --ray, got {address!r}. {remedy}")
    try:
        with socket.create_connection((str(place[0]), int(place[1] or 0)), timeout=_REACHABLE):
            pass
    except OSError as error:
        raise WorkerError(
            f"expected a Ray cluster at {address!r}, got nothing there ({error.strerror or error}). {remedy}"
        ) from error
