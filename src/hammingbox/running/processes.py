"""`Processes`: a run on several cores of this machine, one spawned process with one thread for each."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from weakref import finalize

from hammingbox.errors import WorkerError
from hammingbox.running.carried_rows import Arrays
from hammingbox.running.dispatch import Computed, Crew, CrewExecutor, Died, Passed, Raised, Report, depth_of
from hammingbox.running.run_spec import Places, RunSpec
from hammingbox.running.sending import Key, Packing, Parcel
from hammingbox.running.shared_tables import SharedTables
from hammingbox.running.workbench import check_versions, rows_of, unpacked_error
from hammingbox.running.worker import START, read_messages, write_message
from hammingbox.running.worker_devices import spread
from hammingbox.settings import whole_number

MOST_WORKERS = 1024
_FAILED_STARTS = 3
"""Workers in a row that end before they are ready, while nobody computes a batch."""
_PATIENCE = 10.0
"""Seconds for a worker to end by itself."""


class Processes(CrewExecutor):
    """Computes batches in spawned processes of this machine. Records are those of `Serial`, in whatever order.

    The processes start with the first run and stay until `close`: victim, data and space are sent once to each, and
    large tables are read from shared memory. Torch uses one thread in each.

    Args:
        workers: how many; more than there are cores only take turns.
        device: where victims run, such as "cuda", which spreads workers over the GPUs, or "cuda:1"; where the victim
            is by default.

    Raises:
        InputError: a number of workers that is none.
    """

    def __init__(self, workers: int, *, device: str | None = None) -> None:
        super().__init__()
        self.workers = whole_number("workers", workers, most=MOST_WORKERS)
        self.device = device
        self._crew: _ProcessCrew | None = None
        self._end: finalize[Any, Processes] | None = None

    def crew(self) -> Crew:
        """The processes, started now if there are none."""
        if self._crew is None:
            self._crew = _ProcessCrew(spread(self.device, self.workers))
            self._end = finalize(self, self._crew.close)
        return self._crew

    def environment(self) -> dict[str, Any]:
        """One thread, in each worker."""
        return {"threads": 1, "executor": repr(self)}

    def close(self) -> None:
        """Ends the processes."""
        if self._end is not None:
            self._end()
        self._crew, self._end = None, None

    def __repr__(self) -> str:
        return f"Processes({self.workers}{'' if self.device is None else f', device={self.device!r}'})"


class _Worker:
    """One process, as the driver sees it."""

    def __init__(self, place: int, device: str | None, tables: Path, inbox: "SimpleQueue[Any]") -> None:
        self.place, self.device = place, device
        self.tickets: deque[int] = deque()
        self.held: set[Key] = set()
        self.is_ready, self.last = False, float("inf")
        self.process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        # As the current folder may hold the module of a `package.module:object`.
        self._write_line(json.dumps([*sys.path, str(Path.cwd())]).encode() + b"\n")
        self.send((tables, device))
        self._thread = threading.Thread(target=self._listen, args=(inbox,), daemon=True)
        self._thread.start()

    def _listen(self, inbox: "SimpleQueue[Any]") -> None:
        for message in read_messages(self._stdout):
            inbox.put((self, message))
        inbox.put((self, None))

    def _write_line(self, line: bytes) -> None:
        try:
            self._stdin.write(line)
        except OSError:  # it is dead, which its other pipe says
            return

    def send(self, message: tuple[Any, ...]) -> None:
        """Sends a message; to a dead worker, nothing."""
        try:
            write_message(self._stdin, message)
        except (OSError, ValueError):  # it is dead, which its other pipe says
            return

    def prepare(self, parcel: Parcel) -> None:
        """Sends a run, with the parts that the worker does not have."""
        new = {key: content for key, content in parcel.parts.items() if key not in self.held}
        self.send(("run", parcel.number, new, parcel.run, list(parcel.parts)))
        self.held = set(parcel.parts)

    def end(self) -> int:
        """Ends the process, by force if it does not listen; its exit code."""
        with suppress(OSError):  # of what was buffered for a dead worker
            self._stdin.close()
        try:
            code = self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._thread.join(_PATIENCE)
        self._stdout.close()
        return code


class _ProcessCrew(Crew):
    """The processes of an executor. It does not refer to the executor, so that nobody keeps them for nothing."""

    def __init__(self, devices: tuple[str | None, ...]) -> None:
        self._inbox: SimpleQueue[tuple[_Worker, tuple[Any, ...] | None]] = SimpleQueue()
        self._tables = SharedTables()
        self._packing = Packing(self._tables)
        self._parcel: Parcel | None = None
        self._failed_starts = 0
        self._workers = [self._start(place, device) for place, device in enumerate(devices)]

    def _start(self, place: int, device: str | None) -> _Worker:
        return _Worker(place, device, self._tables.folder, self._inbox)

    def prepare(self, spec: RunSpec) -> None:
        """Packs a run and sends it to every worker."""
        self._parcel = self._packing.pack(spec)
        for worker in self._workers:
            if worker.is_ready:
                worker.prepare(self._parcel)

    def is_ready(self) -> bool:
        """Whether all processes have imported what they need."""
        return all(worker.is_ready for worker in self._workers)

    def has_room(self) -> bool:
        """Whether some worker is idle, or about to be."""
        return any(map(_can_take, self._workers))

    def give(self, ticket: int, places: Places, rows: Arrays | None) -> None:
        """Gives a batch to the worker with the fewest."""
        worker = min(filter(_can_take, self._workers), key=lambda worker: len(worker.tickets))
        worker.tickets.append(ticket)
        worker.send(("batch", ticket, places.numpy(), rows))  # torch takes a while to pickle a tensor

    def wait(self) -> Report:
        """Waits for the next message of a worker that is still one of ours."""
        while True:
            worker, message = self._inbox.get()
            if worker not in self._workers:
                continue
            if message is None:
                return self._replace(worker)
            kind, *rest = message
            if kind == "ready":
                check_versions(rest[0], "in a worker process")
                worker.is_ready, self._failed_starts = True, 0
                if self._parcel is not None:
                    worker.prepare(self._parcel)
                return Passed(0)
            if kind == "passed":
                return Passed(rest[0])
            if kind == "refused":
                number, error = rest
                if self._parcel is not None and number == self._parcel.number:  # not a run that was broken off
                    raise unpacked_error(error)
                continue
            ticket, answer = rest
            worker.tickets.remove(ticket)
            if isinstance(answer, bytes):
                return Raised(ticket, unpacked_error(answer))
            arrays, worker.last, passes = answer
            self._failed_starts = 0  # the run goes on, whatever happens to a worker that is to join
            return Computed(ticket, rows_of(arrays), worker.last, passes)

    def _replace(self, worker: _Worker) -> Died:
        """Starts a worker in place of a dead one.

        Raises:
            WorkerError: workers do not get as far as to be ready.
        """
        reason = ending(worker.end())
        if not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS:
                raise WorkerError(
                    f"expected worker processes to start, got {self._failed_starts} in a row that ended before they "
                    f"were ready ({reason}). Their messages are on standard error; try fewer workers."
                )
        self._workers[worker.place] = self._start(worker.place, worker.device)
        tickets = list(worker.tickets)
        return Died(tickets[0] if tickets else None, tickets[1:], reason)

    def close(self) -> None:
        """Ends all processes and gives the shared memory back."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
        self._tables.close()


def _can_take(worker: _Worker) -> bool:
    return worker.is_ready and len(worker.tickets) < depth_of(worker.last)


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"it was killed by {name}" + (", as the system does when memory runs out" if name == "SIGKILL" else "")
