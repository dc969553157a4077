"""`--workers` and `--ray`: who computes the rows of a command."""

import os
from typing import Annotated

import typer

from hammingbox.cli.console import err
from hammingbox.cli.options import device_from
from hammingbox.running.executor import Executor, Serial
from hammingbox.running.processes import MOST_WORKERS, Processes

Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_WORKERS,
        help="Processes that share the rows, one thread each; records stay the same. With --ray: actors, at most.",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS", help="Share the rows over a Ray cluster: HOST:PORT, ray://HOST:PORT, auto."
    ),
]


def executor_from(workers: int | None, ray: str | None, device: str = "cpu") -> Executor:
    """Who computes, as the options say: this process, several, or a cluster. Close it.

    Raises:
        InputError: ray is not installed.
        WorkerError: there is no such cluster, or it has no such device.
    """
    owned = None if device == "cpu" else device
    if ray is not None:
        from hammingbox.running.ray_cluster import RayCluster

        cluster = RayCluster(ray, workers=workers, device=owned)
        cluster.crew()  # before anything is written
        return cluster
    if workers is None:
        return Serial()
    note_few_cores(workers)
    return Processes(workers, device=owned)


def note_few_cores(workers: int) -> None:
    """Says that there are fewer cores than processes."""
    cores = _cores()
    if workers > cores:
        err.print(
            f"workers: {workers} processes share {cores} core{'s'[: cores > 1]} of this machine and gain nothing over "
            f"{cores}. Use --workers {cores}.",
            highlight=False,
            soft_wrap=True,
        )


def driver_device(device: str, ray: str | None) -> str:
    """Where this process asks the victim: on the device itself, or on its CPU when the device is a cluster's."""
    if ray is not None:
        return "cpu"
    return str(device_from(device))


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
