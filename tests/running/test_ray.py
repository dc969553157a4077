"""Actors of a Ray cluster end with the records of one process, also when a machine goes away."""

import platform
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hammingbox import (
    ATTACKS,
    InputError,
    RayCluster,
    RunSpec,
    WorkerError,
    evaluate,
    evaluate_into,
    open_store,
)
from hammingbox.running import ray_cluster
from toys import Case, same_rows
from toys.tools import load_tool
from toys.workers import (
    FaultingVictim,
    OnceDyingVictim,
    RaisingVictim,
    ScaledVictim,
    UnsendableVictim,
    changing_victims,
)

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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps its own rules")
def test_actors_keep_freed_memory(case: Case, executor: RayCluster, tmp_path: Path) -> None:
    evaluate(FaultingVictim(tmp_path / "faults"), *case[1:], ATTACKS["random"](), executor=executor)
    assert int((tmp_path / "faults").read_text()) < 512, "or every step is given its memory anew"


def test_a_victim_that_changed_is_sent_again(case: Case, executor: RayCluster) -> None:
    for victim, change in changing_victims():
        for _ in range(2):
            found = evaluate(victim, *case[1:], ATTACKS["ga"](), batch_size=8, executor=executor)
            same_rows(found.rows, evaluate(victim, *case[1:], ATTACKS["ga"](), batch_size=8).rows)
            change()


def test_memory_of_the_cluster_is_given_back(case: Case, cluster: Any) -> None:
    """Neither the driver nor an actor refers to what an earlier run needed."""
    scaled = ScaledVictim()

    def is_there(name: str) -> bool:
        """Whether the driver, who owns an object, knows of anybody who refers to it, actors included."""
        return name.encode() in ray._private.worker.global_worker.core_worker.get_all_reference_counts()

    def is_gone(names: list[str]) -> bool:
        """Whether all of them are after at most twenty seconds: actors give back when they have a moment."""
        until = monotonic() + 20
        while (found := any(map(is_there, names))) and monotonic() < until:
            sleep(0.1)
        return not found

    earlier: list[str] = []
    with RayCluster(cluster.address, workers=1) as executor:
        crew: Any = executor.crew()
        for _ in range(3):
            evaluate(scaled, *case[1:], ATTACKS["random"](), executor=executor)
            (name,) = (ref.hex() for ref in crew._tables.refs.values())
            assert is_there(name)
            assert is_gone(earlier)
            earlier.append(name)
            scaled.turn()
        evaluate(case[0].victim, *case[1:], ATTACKS["random"](), executor=executor)
        assert is_gone(earlier)


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
        ("http://127.0.0.1:1", "expected HOST:PORT"),
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


class _FakeRay:
    """A cluster that has nothing but resources, and notes what is asked of it."""

    def __init__(self, **resources: float) -> None:
        self.resources = resources
        self.kept: list[object] = []
        self.is_there = False
        self.options_of: list[dict[str, Any]] = []
        self.devices: list[str | None] = []

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def is_initialized(self) -> bool:
        return self.is_there

    def shutdown(self) -> None:
        self.is_there = False

    def put(self, value: object) -> int:
        self.kept.append(value)
        return len(self.kept)

    def remote(self, _kind: type) -> SimpleNamespace:
        return SimpleNamespace(options=self.options)

    def options(self, **options: Any) -> SimpleNamespace:
        self.options_of.append(options)
        return SimpleNamespace(remote=self.start)

    def start(self, device: str | None, _paths: list[str]) -> Any:
        self.devices.append(device)
        return SimpleNamespace(hello=SimpleNamespace(remote=object))


@pytest.mark.parametrize(("device", "workers", "size"), [("cuda", None, 2), ("cuda", 1, 1), ("cuda:1", 9, 2)])
def test_every_actor_is_given_a_gpu_of_its_own(device: str, workers: int | None, size: int) -> None:
    fake = _FakeRay(CPU=16, GPU=2)
    ray_cluster._RayCrew(fake, workers, device, shut_down=False)
    assert [options["num_gpus"] for options in fake.options_of] == [1] * size
    assert fake.devices == ["cuda"] * size, "Ray shows an actor its GPU as the first one"
    with pytest.raises(WorkerError, match="expected GPUs in the Ray cluster"):
        ray_cluster._RayCrew(_FakeRay(CPU=16), workers, device, shut_down=False)


def test_actors_without_a_gpu_ask_for_none() -> None:
    fake = _FakeRay(CPU=3, GPU=2)
    ray_cluster._RayCrew(fake, None, None, shut_down=False)
    assert [options["num_cpus"] for options in fake.options_of] == [1] * 3
    assert not any("num_gpus" in options for options in fake.options_of)
    assert fake.devices == [None] * 3


def test_what_two_runs_share_is_put_once(case: Case) -> None:
    fake = _FakeRay(CPU=1)
    crew = ray_cluster._RayCrew(fake, None, None, shut_down=False)
    for name in ("ga", "pcaa"):
        crew.prepare(RunSpec(case[0].victim, *case[1:], ATTACKS[name]()))
    assert len(fake.kept) == 3, "victim, data and space"


def test_a_cluster_without_the_device_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = _FakeRay(CPU=1)
    monkeypatch.setattr(ray_cluster, "_imported", lambda: fake)
    monkeypatch.setattr(ray_cluster, "_connect", lambda ray, _address: setattr(ray, "is_there", True))
    with pytest.raises(WorkerError, match="expected GPUs"):
        RayCluster(device="cuda").crew()
    assert not fake.is_there


def test_tables_of_ids_are_not_copied() -> None:
    worker = ray_cluster.RayWorker(None)
    ids = torch.arange(6).numpy()
    ids.flags.writeable = False
    assert worker._fetch(ids).data_ptr() == ids.ctypes.data
    weights = torch.ones(3).numpy()
    weights.flags.writeable = False
    worker._fetch(weights).add_(1)
    assert weights.tolist() == [1, 1, 1]
