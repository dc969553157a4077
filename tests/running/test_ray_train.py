"""Under Ray Train, `fit` joins the process group that Ray made, and trains as `--workers` does."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hammingbox import TrainingProcesses
from toys.ray_training import train, trained
from toys.tools import load_tool

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'hammingbox[ray]'")
ray_torch = pytest.importorskip("ray.train.torch", reason="Ray Train is not installed: pip install 'ray[train]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray itself
nodes = load_tool("ray_nodes")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """One node with two cores."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in nodes.PATIENCE.items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)  # where workers find `toys`
        try:
            cluster = nodes.start_cluster(cpus=2)
        except Exception as error:
            if not nodes.is_late(error):
                raise
            pytest.skip("Ray itself gives up starting: the machine is too busy")
        ray.init(cluster.address, log_to_driver=False)
        yield cluster.address
        ray.shutdown()
        cluster.shutdown()


def test_two_workers_of_ray_train_are_two_processes(address: str, tmp_path: Path) -> None:
    assert address
    trainer = ray_torch.TorchTrainer(
        train,
        train_loop_config={"out": str(tmp_path / "found.pt")},
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        torch_config=ray_torch.TorchConfig(backend="gloo"),
        run_config=ray.train.RunConfig(storage_path=str(tmp_path / "ray")),
    )
    trainer.fit()
    under_ray = torch.load(tmp_path / "found.pt", weights_only=True)
    with TrainingProcesses(2) as team:
        wanted = trained(team)
    assert len(wanted["rows"]) == len(under_ray["rows"]) == 6
    assert all(torch.equal(a, b) for a, b in zip(wanted["rows"], under_ray["rows"], strict=True))
    assert torch.equal(wanted["weights"], under_ray["weights"])
