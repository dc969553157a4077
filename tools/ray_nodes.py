"""Ray nodes on this machine that start and stay also when it is busy."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from time import sleep
from typing import Any

PATIENCE = {
    "RAY_worker_niceness": "0",
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "15",
}
"""Environment: a busy machine starts Ray slowly; a node that is gone is still noticed within seconds."""
_PAUSE = 5.0
"""Seconds after a start that failed."""


def ports() -> dict[str, int]:
    """Free ports for what a node starts: it waits 15 seconds only for those that look for one themselves."""
    names = ("metrics_agent_port", "runtime_env_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
    sockets = [socket.socket() for _ in names]
    for each in sockets:
        each.bind(("", 0))
    found = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return dict(zip(names, found, strict=True))


@contextmanager
def _agent_not_waited_for() -> Iterator[None]:
    """A node waits 15 seconds for a file in which its agent writes a port, but we have chosen it: it is written here.

    No setting changes that limit, and on a busy machine the agent takes longer than that to be imported.
    """
    from ray._private import services

    start = services.start_raylet

    def start_raylet(*values: Any, **named: Any) -> Any:
        given = signature(start).bind(*values, **named).arguments
        name = f"dashboard_agent_listen_port_{given['node_id']}"
        (Path(given["session_dir"]) / name).write_text(str(given["dashboard_agent_listen_port"]))
        return start(*values, **named)

    services.start_raylet = start_raylet
    try:
        yield
    finally:
        services.start_raylet = start


def is_late(error: Exception) -> bool:
    """Whether Ray gave up starting a node, after half a minute."""
    return "timed out during startup" in str(error)


def start_cluster(cpus: int = 1, tries: int = 1) -> Any:
    """A cluster of one node.

    Args:
        cpus: its cores.
        tries: how often Ray may give up; the last time its error is raised.
    """
    from ray.cluster_utils import Cluster

    head = {"num_cpus": cpus, "include_dashboard": False}
    return _patiently(lambda: Cluster(initialize_head=True, head_node_args=head | ports()), tries)


def add_node(cluster: Any, tries: int = 1) -> None:
    """Adds a node with one core.

    Args:
        cluster: where.
        tries: as `start_cluster`.
    """
    _patiently(lambda: cluster.add_node(num_cpus=1, **ports()), tries)


def _patiently(start: Callable[[], Any], tries: int) -> Any:
    while True:
        tries -= 1
        try:
            with _agent_not_waited_for():
                return start()
        except Exception as error:
            if tries <= 0 or not is_late(error):
                raise
            sleep(_PAUSE)
