"""`TrainingProcesses`: a training on several cores or GPUs of this machine, which this process leads."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any, TypeVar

import torch
from torch import distributed

from hammingbox.errors import InputError, WorkerError
from hammingbox.running.processes import MOST_WORKERS, ending
from hammingbox.running.training_helper import START
from hammingbox.running.worker_devices import spread
from hammingbox.settings import whole_number
from hammingbox.training.process_group import PATIENCE, ProcessGroup, backend_for
from hammingbox.training.team import Team

T = TypeVar("T")


class TrainingProcesses(Team):
    """Trains in several processes of this machine, of which this one is the first, with one thread each.

    The others start with the first training and stay until `close`. One that dies ends the training with one sentence;
    every finished epoch is kept.

    Args:
        workers: processes, this one included.
        device: where victims train, such as "cuda", which spreads processes over the GPUs; the CPU by default.
        patience: seconds that a process waits for another one.

    Raises:
        InputError: a number of processes that is none, or several of them on one GPU.
    """

    def __init__(self, workers: int, *, device: str | None = None, patience: float = PATIENCE) -> None:
        self.size = whole_number("workers", workers, most=MOST_WORKERS)
        self.devices = tuple(torch.device(each or "cpu") for each in spread(device, self.size))
        _check_own_gpus(self.devices)
        self.patience = patience
        self._crew: _Crew | None = None

    def tell(self, value: T) -> list[T]:
        """Tells a value to all processes."""
        return [value] if self._crew is None else self._crew.group.tell(value)

    @contextmanager
    def leading(self, job: Any) -> Iterator[None]:
        """Starts the processes, if need be, and ends them if the training breaks off."""
        if self.size == 1:
            yield
            return
        if self._crew is None:
            self._crew = _Crew(self.devices, self.patience)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with self._crew.group.leading(job):
                yield
        except BaseException:
            self.close()
            raise
        finally:
            torch.set_num_threads(threads)

    def close(self) -> None:
        """Ends the other processes."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def __repr__(self) -> str:
        return f"TrainingProcesses({self.size})"


def _check_own_gpus(devices: tuple[torch.device, ...]) -> None:
    """Nccl does not connect two processes on one GPU.

    Raises:
        InputError: there are two.
    """
    gpus = [str(device) for device in devices if device.type == "cuda"]
    if (own := len(set(gpus))) < len(gpus):
        remedy = f"--workers {own} --device cuda" if own > 1 else "--workers 1"
        raise InputError(
            f"expected a GPU for each process of a training, got {len(gpus)} processes on "
            f"{', '.join(sorted(set(gpus)))}. Use {remedy}, or --device cpu."
        )


class _Group(ProcessGroup):
    """The group of a crew, which knows how its processes ended."""

    def __init__(self, device: torch.device, helpers: "list[subprocess.Popen[bytes]]") -> None:
        super().__init__(device)
        self._helpers = helpers

    def loss(self) -> str:
        """Which process is gone. The system may need a moment to tell."""
        end = monotonic() + 2.0
        while monotonic() < end:
            for rank, helper in enumerate(self._helpers, 1):
                if (code := helper.poll()) is not None:
                    return f"the end of process {rank} ({ending(code)})"
            sleep(0.05)
        return "no answer of one"


class _Crew:
    """Processes that wait for trainings."""

    def __init__(self, devices: tuple[torch.device, ...], patience: float) -> None:
        if distributed.is_initialized():
            raise InputError(
                "expected no process group of torch in this process, got one. Train in it with Torchrun, "
                "or end it first."
            )
        self._folder = Path(mkdtemp(prefix="hammingbox-"))
        self._helpers: list[subprocess.Popen[bytes]] = []
        try:
            self._start(devices, patience)
        except BaseException:
            self.close()
            raise

    def _start(self, devices: tuple[torch.device, ...], patience: float) -> None:
        paths = [*sys.path, str(Path.cwd())]
        settings = {"size": len(devices), "store": str(self._folder / "store"), "patience": patience}
        for rank, device in enumerate(devices[1:], 1):
            helper = subprocess.Popen(
                [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            )  # fmt: skip
            self._helpers.append(helper)
            for line in (paths, settings | {"rank": rank, "device": str(device)}):
                _write_line(helper, line)
        for rank, helper in enumerate(self._helpers, 1):
            assert helper.stdout is not None
            if helper.stdout.readline() != b"ready\n":
                raise WorkerError(
                    f"expected processes to train with, got the end of process {rank} before it was ready "
                    f"({ending(helper.wait())}). Its messages are on standard error; try fewer workers."
                )
        for helper in self._helpers:
            _write_line(helper, "go")
        join(settings | {"rank": 0, "device": str(devices[0])})
        self.group = _Group(devices[0], self._helpers)

    def close(self) -> None:
        """Ends the processes, which keep nothing."""
        for helper in self._helpers:
            helper.kill()
        for helper in self._helpers:
            helper.wait()
            for pipe in (helper.stdin, helper.stdout):
                with suppress(OSError):  # of what was buffered for a dead process
                    assert pipe is not None
                    pipe.close()
        if distributed.is_initialized():
            distributed.destroy_process_group()
        rmtree(self._folder, ignore_errors=True)


def join(settings: dict[str, Any]) -> None:
    """Makes the process group of a crew in this process, over the machine's own interface."""
    device = torch.device(settings["device"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    store = distributed.FileStore(settings["store"], settings["size"])  # type: ignore[attr-defined]
    before = os.environ.get("GLOO_SOCKET_IFNAME")
    if before is None and Path("/sys/class/net/lo").exists():
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        distributed.init_process_group(
            backend_for(device), store=store, rank=settings["rank"], world_size=settings["size"],
            timeout=timedelta(seconds=settings["patience"]),
        )  # fmt: skip
    except RuntimeError as error:
        raise WorkerError(
            f"expected {settings['size']} processes to find each other, got: {error}. Give the same command again."
        ) from error
    finally:
        if before is None:
            os.environ.pop("GLOO_SOCKET_IFNAME", None)


def _write_line(helper: "subprocess.Popen[bytes]", value: Any) -> None:
    assert helper.stdin is not None
    with suppress(OSError):  # it is dead, which its other pipe says
        helper.stdin.write(json.dumps(value).encode() + b"\n")
        helper.stdin.flush()
