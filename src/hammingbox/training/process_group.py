"""A team of the processes of torch's default process group, whoever started them: this package, torchrun or a cluster.

What the processes tell each other is pickled, as between the workers of a run: they are processes of one user's own
program. The ports of a group trust whoever reaches them, so keep them closed to others.
"""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import cloudpickle
import torch
from torch import distributed

from hammingbox.errors import InputError, WorkerError
from hammingbox.training.team import Team

T = TypeVar("T")

PATIENCE = 600.0
"""Seconds that a process waits for another one within a training."""
_BETWEEN_JOBS = timedelta(days=30)


def backend_for(device: torch.device) -> str:
    """How processes talk: objects through memory, gradients from where they are."""
    return "gloo" if device.type == "cpu" else f"cpu:gloo,{device.type}:nccl"


class ProcessGroup(Team):
    """All processes of the default process group, which exists already.

    Args:
        device: where this process trains.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.device = device
        # Waiting for a job has no limit but the life of the leader, while collective operations have.
        self._store = distributed.distributed_c10d._get_default_store()
        self._jobs = 0

    def tell(self, value: T) -> list[T]:
        """Tells a value to all processes.

        Raises:
            WorkerError: a process is gone, or does not answer.
        """
        told: list[Any] = [None] * self.size
        with self._watched():
            distributed.all_gather_object(told, value)
        return told

    @contextmanager
    def leading(self, job: Any) -> Iterator[None]:
        """Sends a training to all processes, and waits until they have it."""
        content = _packed(job)
        self._announce("job")
        with self._watched():
            distributed.broadcast_object_list([content], src=0)
            with self.in_step():
                self.exchange(None)
            yield

    def next_job(self) -> Any:
        """Waits for the next training."""
        self._jobs += 1
        key = f"hammingbox/{self._jobs}"
        with self._watched():
            self._store.wait([key], _BETWEEN_JOBS)
            if self._store.get(key) == b"end":
                return None
            content: list[Any] = [None]
            distributed.broadcast_object_list(content, src=0)
        with self.in_step():
            try:
                job = pickle.loads(content[0])
            except Exception as error:  # a module that is not installed here, or whatever the user's code raises
                raise InputError(
                    f"expected to rebuild the training in process {self.rank}, got {type(error).__name__}: {error}. "
                    "Its modules must be importable there: install them, or train in one process."
                ) from error
        return replace(job, victim=job.victim.to(self.device))

    def dismiss(self) -> None:
        """Tells the processes that wait for a job that there is none any more."""
        if self.rank == 0:
            self._announce("end")

    def _announce(self, what: str) -> None:
        self._jobs += 1
        self._store.set(f"hammingbox/{self._jobs}", what)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Says in one sentence that a process is gone."""
        try:
            yield
        except RuntimeError as error:
            if not _is_of_the_group(error):
                raise
            raise WorkerError(
                f"expected {self.size} processes that train together, got {self.loss()}. "
                "Finished epochs are kept in --out: give the same command again."
            ) from error

    def loss(self) -> str:
        """Which process is gone, in words."""
        return "the end of one, or no answer"


class Torchrun(ProcessGroup):
    """The processes that `torchrun` started with one command, on one machine or several; or a group that exists.

    Every process has to make one, and to call `fit` with it. The arguments of the first process count.

    Args:
        device: where this process trains.

    Raises:
        InputError: there is neither a process group nor an environment to make one of.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        device = torch.device(device)
        self._owned = not distributed.is_initialized()
        if self._owned:
            if not is_under_torchrun():
                raise InputError(
                    "expected a process that torchrun started, got another one. Start it with torchrun, or use "
                    "TrainingProcesses."
                )
            if device.type == "cuda":
                torch.cuda.set_device(device)
            distributed.init_process_group(backend_for(device), timeout=timedelta(seconds=PATIENCE))
        super().__init__(device)

    def close(self) -> None:
        """Lets the processes go."""
        self.dismiss()
        if self._owned and distributed.is_initialized():
            distributed.destroy_process_group()


def is_under_torchrun() -> bool:
    """Whether this process is one of several that torchrun started."""
    known = all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
    return known and int(os.environ["WORLD_SIZE"]) > 1


def _packed(job: Any) -> bytes:
    """A training as bytes, with its victim on the CPU: every process moves it to a device of its own.

    Raises:
        InputError: something in it cannot be sent.
    """
    try:
        content: bytes = cloudpickle.dumps(replace(job, victim=deepcopy(job.victim).cpu()))
    except Exception as error:  # whatever an object of the user's raises when it is pickled
        raise InputError(
            f"expected a training that can be sent to other processes, got {type(job.victim).__name__} and "
            f"{type(job.defence).__name__}: {type(error).__name__}: {error}. Train in one process."
        ) from error
    return content


def _is_of_the_group(error: RuntimeError) -> bool:
    """Whether torch lost another process. Gloo's errors have no type of their own."""
    return isinstance(error, distributed.DistError) or "gloo" in str(error)
