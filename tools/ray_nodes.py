"""Ray nodes on this machine that start and stay also when it is busy."""

import socket
from time import sleep
from typing import Any

PATIENCE = {
    "RAY_worker_niceness": "0",
    "RAY_raylet_start_wait_time_s": "300",
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


def is_late(error: Exception) -> bool:
    """Whether Ray gave up starting a node."""
    return "timed out during startup" in str(error)


def start_cluster(cpus: int = 1) -> Any:
    """A cluster of one node."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": cpus, "include_dashboard": False, **ports()}
    return Cluster(initialize_head=True, head_node_args=head)


def add_node(cluster: Any, tries: int = 1) -> None:
    """Adds a node with one core.

    Args:
        cluster: where.
        tries: how often Ray may give up; the last time its error is raised.
    """
    for left in reversed(range(tries)):
        try:
            cluster.add_node(num_cpus=1, **ports())
        except Exception as error:
            if left == 0 or not is_late(error):
                raise
            sleep(_PAUSE)
        else:
            return
