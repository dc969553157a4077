"""Actors of a Ray cluster end with the records of one process, also when a machine goes away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import ATTACKS, InputError, RayCluster, WorkerError, evaluate, evaluate_into, open_store
from hammingbox.running import ray_cluster
from toys import Case, same_rows
from toys.tools import load_tool
from toys.workers import OnceDyingVictim, RaisingVictim, UnsendableVictim

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'hammingbox[ray]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray itself


nodes = load_tool("ray_nodes")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes on this machine, the only cluster of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in nodes.PATIENCE.items():
            patch.setenv(name, value)
        try:
            found = nodes.start_cluster()
            for _ in range(2):
                nodes.add_node(found)
        except Exception as error:
            if not nodes.is_late(error):
                raise
            pytest.skip("Ray itself gives up starting: the machine is too busy")
        yield found
        ray.shutdown()
        found.shutdown()


@pytest.fixture(scope="module")
def executor(cluster: Any) -> Iterator[RayCluster]:
    with RayCluster(cluster.address, workers=2) as found:
        yield found


@pytest.mark.parametrize("name", ["pcaa", "gga"])
def test_records_are_equal(case: Case, executor: RayCluster, tmp_path: Path, name: str) -> None:
    for size in (7, 256):
        plain = evaluate(case[0].victim, *case[1:], ATTACKS[name](), batch_size=size)
        with open_store(tmp_path / str(size), create=True) as store:
            evaluate_into(store, *case, ATTACKS[name](), batch_size=size, executor=executor)
            same_rows(store.rows(1), plain.rows)
            assert "RayCluster" in store.sessions(1)[0].environment["executor"]


def test_rows_that_raise_and_actors_that_die(case: Case, executor: RayCluster, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    plain = evaluate(checkpoint.victim, data, threat, ATTACKS["ga"](), batch_size=10)
    raising = RaisingVictim(data.ids[9])
    alone = evaluate(raising, data, threat, ATTACKS["ga"]()).failed
    assert alone
    found = evaluate(raising, data, threat, ATTACKS["ga"](), batch_size=10, executor=executor)
    assert found.failed == alone
    dying = OnceDyingVictim(data.ids[20], tmp_path / "died")
    dying.load_state_dict(checkpoint.victim.state_dict())
    found = evaluate(dying, data, threat, ATTACKS["ga"](), batch_size=10, executor=executor)
    assert (tmp_path / "died").exists()
    assert found.failed == ()
    same_rows(found.rows, plain.rows)
    with pytest.raises(InputError, match="can be sent to other processes"):
        evaluate(UnsendableVictim(), data, threat, ATTACKS["ga"](), executor=executor)


def test_a_node_that_disappears(case: Case, cluster: Any, executor: RayCluster) -> None:
    plain = evaluate(case[0].victim, *case[1:], ATTACKS["pcaa"](), batch_size=2)
    there = list(cluster.worker_nodes)

    def after_rows(_done: int, _broken: int) -> None:
        while there:  # both machines but the head's go away in the middle of the run
            cluster.remove_node(there.pop(), allow_graceful=False)

    found = evaluate(
        case[0].victim, *case[1:], ATTACKS["pcaa"](), batch_size=2, executor=executor, on_rows=after_rows
    )  # fmt: skip
    assert not there
    assert found.failed == ()
    same_rows(found.rows, plain.rows)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:1", r"expected a Ray cluster at '127.0.0.1:1', got nothing there .*`ray start --head`"),
        ("ray://127.0.0.1:1", "got nothing there"),
        ("nowhere", "expected HOST:PORT, ray://HOST:PORT or auto for --ray, got 'nowhere'"),
        ("host:port", "expected HOST:PORT"),
    ],
)
def test_a_cluster_that_is_not_there(address: str, sentence: str) -> None:
    with pytest.raises(WorkerError, match=sentence):
        ray_cluster._connect(ray, address)


def test_what_ray_says_becomes_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, sentence in (
        (ConnectionError("no running instance"), "expected a Ray cluster at 'auto', got none .*--workers"),
        (RuntimeError("Version mismatch: 3.12 against 3.11"), "of this version of Python and ray.*Version mismatch"),
    ):

        def fail(error: Exception = error, **_: object) -> None:
            raise error

        monkeypatch.setattr(ray, "init", fail)
        with pytest.raises(WorkerError, match=sentence):
            ray_cluster._connect(ray, "auto")


def test_tables_of_ids_are_not_copied() -> None:
    worker = ray_cluster.RayWorker(None)
    ids = torch.arange(6).numpy()
    ids.flags.writeable = False
    assert worker._fetch(ids).data_ptr() == ids.ctypes.data
    weights = torch.ones(3).numpy()
    weights.flags.writeable = False
    worker._fetch(weights).add_(1)
    assert weights.tolist() == [1, 1, 1]
