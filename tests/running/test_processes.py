"""Spawned workers end with the records of one process, whatever happens to them."""

import sqlite3
from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import torch

from hammingbox import (
    ATTACKS,
    Dataset,
    Evaluation,
    Executor,
    InputError,
    MemoryStore,
    Processes,
    Rows,
    RunSpec,
    Schema,
    Serial,
    ThreatModel,
    TooExpensiveError,
    Victim,
    evaluate,
    evaluate_into,
    open_store,
)
from hammingbox.cli.workers import executor_from
from hammingbox.data.mapped import ArrayFile
from hammingbox.errors import WorkerError
from hammingbox.running import processes
from hammingbox.running.carried_rows import pack_rows
from hammingbox.running.sending import Packing, unpack
from hammingbox.running.shared_tables import SharedTables, fetch_table
from hammingbox.running.store import FILE
from hammingbox.running.workbench import Workbench, check_versions, own_versions, rows_of
from hammingbox.running.worker_devices import spread
from hammingbox.victims.pass_watch import watching_passes
from toys import Case, same_rows
from toys.workers import (
    AlwaysRaisingVictim,
    DyingVictim,
    MovedVictim,
    OnceDyingVictim,
    RaisingVictim,
    ScaledVictim,
    UnbuildableVictim,
    UnsendableVictim,
    changing_victims,
)


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


def records(folder: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / FILE) as connection:
        found = connection.execute("SELECT * FROM rows ORDER BY run, number").fetchall()
    connection.close()
    return found


def run(victim: Victim, case: Case, executor: Executor | None = None, **settings: Any) -> Evaluation:
    return evaluate(victim, case[1], case[2], ATTACKS["ga"](), executor=executor, **settings)


@pytest.mark.parametrize("name", ["pcaa", "auto", "gga"])
def test_records_are_equal_byte_by_byte(case: Case, two: Processes, tmp_path: Path, name: str) -> None:
    checkpoint, data, threat = case
    for folder, executor, size in (
        ("serial 7", Serial(), 7), ("two 7", two, 7), ("serial 256", Serial(), 256), ("two 256", two, 256),
    ):  # fmt: skip
        with open_store(tmp_path / folder, create=True) as store:
            found = evaluate_into(
                store, checkpoint, data, threat, ATTACKS[name](), batch_size=size, executor=executor
            )  # fmt: skip
            assert found.failed == ()
            assert store.damage(1) == []
            assert store.sessions(1)[0].environment.get("executor") == (None if executor is not two else "Processes(2)")
    for size in (7, 256):
        assert records(tmp_path / f"two {size}") == records(tmp_path / f"serial {size}")


def test_four_workers_and_passes_of_all(case: Case) -> None:
    plain = run(case[0].victim, case, batch_size=2)
    passes = 0

    def count(rows: int) -> None:
        nonlocal passes
        passes += rows

    with Processes(4) as executor, watching_passes(count):
        same_rows(run(case[0].victim, case, executor, batch_size=2).rows, plain.rows)
    assert passes >= int(plain.rows.forward.sum()) - len(plain.rows), "passes of all workers are told"


def test_a_row_that_raises_fails_alone(case: Case, two: Processes, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    victim = RaisingVictim(data.ids[9])
    victim.load_state_dict(checkpoint.victim.state_dict())
    alone = []
    for place in range(len(data)):
        try:
            RunSpec(victim, data, threat, ATTACKS["ga"]()).compute(torch.tensor([place]))
        except ValueError:
            alone.append(int(data.numbers[place]))
    assert int(data.numbers[9]) in alone
    assert len(alone) < len(data) / 2
    plain = run(checkpoint.victim, case).rows
    expected = plain.take(~torch.isin(plain.numbers, torch.tensor(alone)))
    parts: list[Rows] = []
    for executor in (Serial(), two):
        found = run(victim, case, executor, batch_size=10)
        assert [row.number for row in found.failed] == alone
        assert "cursed" in found.failed[0].reason
        assert len(found.data) == len(found.rows)
        assert torch.equal(found.rows.adversarial, expected.adversarial)
        parts.append(found.rows)
        assert found.findings[0].slug == "failed-rows"
    same_rows(*parts)
    # Into a store: noted, sealed, tried again, and forgotten once it is recorded.
    with open_store(tmp_path, create=True) as store:
        for _ in range(2):
            found = evaluate_into(store, victim, data, threat, ATTACKS["ga"](), batch_size=10, executor=two)
            assert [row.number for row in store.failures(1)] == alone
            assert [row.number for row in found.failed] == alone
            assert store.damage(1) == []
        found = evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), batch_size=10, executor=two)
        assert store.failures(1) == []
        assert store.damage(1) == []
        assert torch.equal(found.rows.adversarial, plain.adversarial)


def test_an_edited_failure_is_noticed(case: Case, tmp_path: Path) -> None:
    victim = RaisingVictim(case[1].ids[9])
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, victim, case[1], case[2], ATTACKS["ga"]())
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE failures SET reason = 'none'")
    connection.close()
    with open_store(tmp_path) as store:
        assert any("failed row" in problem for problem in store.damage(1))


def test_a_victim_that_answers_nothing_is_an_error(case: Case, two: Processes) -> None:
    victim = AlwaysRaisingVictim((3, 2, 5, 3, 4))
    for executor in (Serial(), two):
        with pytest.raises(ArithmeticError, match="no answer at all"):
            run(victim, case, executor)
        with MemoryStore() as store:
            with pytest.raises(ArithmeticError, match="no answer at all"):
                evaluate_into(store, victim, case[1], case[2], ATTACKS["ga"](), executor=executor)
            assert store.failures(1) == []


def test_a_killed_worker_costs_nothing(case: Case, two: Processes, tmp_path: Path) -> None:
    victim = OnceDyingVictim(case[1].ids[20], tmp_path / "died")
    victim.load_state_dict(case[0].victim.state_dict())
    found = run(victim, case, two, batch_size=7)
    assert (tmp_path / "died").exists()
    assert found.failed == ()
    same_rows(found.rows, run(case[0].victim, case, batch_size=7).rows)


def test_a_row_that_kills_its_workers_is_given_up(case: Case, two: Processes) -> None:
    data = case[1]
    victim = DyingVictim(data.ids[20])
    few = data.take(slice(18, 22))
    found = evaluate(victim, few, ThreatModel(case[2].space, 0), ATTACKS["ga"](), executor=two, batch_size=2)
    assert [row.number for row in found.failed] == [int(data.numbers[20])]
    assert "SIGKILL" in found.failed[0].reason
    assert found.rows.numbers.tolist() == few.numbers[torch.tensor([0, 1, 3])].tolist()


def test_errors_about_the_run_pass_through(case: Case, two: Processes) -> None:
    attack = ATTACKS["oracle"](max_passes=1)
    with MemoryStore() as store:
        with pytest.raises(TooExpensiveError):
            evaluate_into(store, *case, attack, executor=two)
        assert store.runs()[0].refused
    with pytest.raises(
        InputError,
        match=r"got UnsendableVictim: TypeError: cannot pickle .*\. Give its class a `__getstate__`.*leave out",
    ):
        run(UnsendableVictim(), case, two)
    with MemoryStore() as store:
        with pytest.raises(InputError, match="expected a victim that can be sent"):
            evaluate_into(store, UnsendableVictim(), *case[1:], ATTACKS["ga"](), executor=two)
        assert store.runs() == [], "no run is begun that nobody can compute"
    unbuildable = UnbuildableVictim()
    for _ in range(2):  # the second time nobody is sent it again, and what the other worker says is not mistaken
        with pytest.raises(InputError, match=r"expected to rebuild the victim in a worker, got OSError: the licence"):
            run(unbuildable, case, two)
    same_rows(run(case[0].victim, case, two).rows, run(case[0].victim, case, batch_size=8).rows)


def test_workers_that_cannot_start(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "START", "raise SystemExit(7)")
    with Processes(1) as executor, pytest.raises(WorkerError, match=r"expected worker processes to start.*exit code 7"):
        run(case[0].victim, case, executor)
    with pytest.raises(InputError, match="workers"):
        Processes(0)


def test_close_leaves_nothing_behind(case: Case) -> None:
    executor = Processes(1)
    run(case[0].victim, case, executor)
    crew = executor._crew
    assert crew is not None
    worker, folder = crew._workers[0].process, crew._tables.folder
    assert folder.exists()
    executor.close()
    assert worker.poll() is not None
    assert not folder.exists()
    assert repr(executor) == "Processes(1)"


def test_large_tables_are_shared_and_parts_packed_once(schema: Schema, case: Case) -> None:
    rows = 200_000
    ids = torch.randint(0, 2, (rows, 5), generator=torch.Generator().manual_seed(0))
    data = Dataset(schema, ids, torch.zeros(rows, dtype=torch.int64))
    tables = SharedTables()
    try:
        packing = Packing(tables)
        spec = RunSpec(case[0].victim, data, case[2], ATTACKS["ga"]())
        parcel = packing.pack(spec)
        assert sum(map(len, parcel.parts.values())) < 100_000, "the table is not among what is sent"
        assert len(parcel.run) < 3_000
        again = packing.pack(RunSpec(case[0].victim, data, case[2], ATTACKS["pcaa"]()))
        assert again.parts == parcel.parts
        assert len(list(tables.folder.iterdir())) == 3, "ids, labels and numbers"
        parts = {key: unpack(content, fetch_table, {}) for key, content in parcel.parts.items()}
        found = unpack(parcel.run, fetch_table, parts)
        for field in fields(Dataset):
            assert field.name in ("schema", "name") or torch.equal(
                getattr(found.data, field.name), getattr(data, field.name)
            )
        found.data.ids[0, 0] = 9
        assert data.ids[0, 0] != 9, "what a worker writes stays with it"
        with torch.no_grad():
            case[0].victim.get_parameter("body.4.bias").add_(1)
        assert set(packing.pack(spec).parts) != set(parcel.parts), "changed weights are sent again"
        few = RunSpec(case[0].victim, case[1].take(slice(1, 9)), case[2], ATTACKS["ga"]())
        assert packing.pack(few).parts == packing.pack(few).parts, "rows of a larger table are sent once, too"
        assert list(tables.folder.iterdir()) == [], "tables that nobody needs are given back"
    finally:
        tables.close()


def test_a_table_beyond_memory_travels_batch_by_batch(schema: Schema, case: Case, tmp_path: Path) -> None:
    rows = 200_000
    ids = torch.zeros(rows, 5, dtype=torch.uint8)
    ids[:, 0] = torch.arange(rows) % 2
    file = ArrayFile(5, ids.numpy().dtype)
    file.append(ids.numpy())
    data = Dataset(schema, torch.from_numpy(file.mapped()), torch.zeros(rows, dtype=torch.int64))
    tables = SharedTables()
    parcel = Packing(tables).pack(RunSpec(case[0].victim, data, case[2], ATTACKS["ga"]()))
    assert list(tables.folder.iterdir()) == [], "no table is put into shared memory"
    tables.close()
    assert sum(map(len, parcel.parts.values())) < 100_000
    bench, places = Workbench(fetch_table), torch.tensor([3, 199_999, 4])
    bench.prepare(parcel.parts, parcel.run, list(parcel.parts))
    answer = bench.compute(places, pack_rows(data, places))
    assert isinstance(answer, tuple)
    found = rows_of(answer[0])
    assert found.numbers.tolist() == places.tolist()
    assert torch.equal(found.clean, ids[places].long())
    assert pack_rows(case[1], places) is None, "workers have the rows of a table in memory"


def test_a_victim_that_changed_is_sent_again(case: Case, two: Processes) -> None:
    for victim, change in changing_victims():
        found = []
        for _ in range(2):
            found.append(run(victim, case, two, batch_size=8).rows)
            same_rows(found[-1], run(victim, case, batch_size=8).rows)
            change()
        assert not torch.equal(found[0].clean_logits, found[1].clean_logits), "or nothing was tested"


def test_shared_memory_is_given_back(case: Case) -> None:
    """Neither the folder nor a worker keeps what an earlier run needed."""
    scaled = ScaledVictim()
    with Processes(1) as executor:
        crew: Any = executor.crew()

        def held() -> tuple[int, int]:
            """Tables in shared memory, and those that the worker has mapped."""
            maps = Path(f"/proc/{crew._workers[0].process.pid}/maps").read_text().splitlines()
            return len(list(crew._tables.folder.iterdir())), sum(str(crew._tables.folder) in line for line in maps)

        for _ in range(3):
            run(scaled, case, executor)
            assert held() == (1, 1)
            scaled.turn()
        run(case[0].victim, case, executor)
        assert held() == (0, 0)


def test_devices_are_spread_over_workers(case: Case, tmp_path: Path) -> None:
    assert spread("cuda", 3, gpus=2) == ("cuda:0", "cuda:1", "cuda:0")
    assert spread("cuda:1", 2, gpus=2) == ("cuda:1", "cuda:1")
    assert spread(None, 2) == (None, None)
    with pytest.raises(InputError, match="expected a GPU"):
        spread("cuda", 2, gpus=0)
    tables = SharedTables()
    parcel = Packing(tables).pack(RunSpec(MovedVictim(tmp_path), case[1], case[2], ATTACKS["ga"]()))
    for device in ("cuda:0", "cuda:1"):
        Workbench(fetch_table, device).prepare(parcel.parts, parcel.run, list(parcel.parts))
    tables.close()
    assert {path.name for path in tmp_path.iterdir()} == {"cuda:0", "cuda:1"}


def test_every_worker_moves_the_victim_to_its_own_gpu(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    moved = MovedVictim(tmp_path)
    with executor_from(2, None, "cuda") as executor:
        assert isinstance(executor, Processes)
        executor.start()
        run(moved, case, executor)
    assert {path.name for path in tmp_path.iterdir()} == {"cuda:0", "cuda:1"}


def test_other_versions_are_refused() -> None:
    check_versions(own_versions() | {"git": None, "python": own_versions()["python"] + "1"}, "there")
    with pytest.raises(InputError, match=r"expected torch .* on node 7 as here, got 1\.0\. Install the same versions"):
        check_versions(own_versions() | {"torch": "1.0"}, "on node 7")


class _Fake(processes._Worker):
    """A worker that computes, or that ends before it is ready."""

    def __init__(self, place: int = 0, *, is_ready: bool = False) -> None:  # starts no process
        self.place, self.device, self.is_ready, self.last = place, None, is_ready, 0.0
        self.tickets = deque()

    def end(self) -> int:
        return -9


def test_starts_that_fail_end_a_run_only_while_nobody_computes(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    crew: Any = object.__new__(processes._ProcessCrew)
    crew._inbox, crew._parcel, crew._failed_starts = SimpleQueue(), None, 0
    crew._workers = [_Fake(is_ready=True), _Fake(1)]
    monkeypatch.setattr(processes._ProcessCrew, "_start", lambda _crew, place, _device: _Fake(place))
    rows = run(case[0].victim, case).rows.take(torch.arange(2))
    answer = ("answer", 5, ([getattr(rows, field.name).numpy() for field in fields(rows)], 0.1, 0))

    def dies() -> None:
        crew._inbox.put((crew._workers[1], None))
        crew.wait()

    for _ in range(2):
        dies()
        dies()
        crew._workers[0].tickets.append(5)
        crew._inbox.put((crew._workers[0], answer))
        assert len(crew.wait().rows) == 2
    dies()
    dies()
    with pytest.raises(
        WorkerError, match=r"got 3 in a row that ended before they were ready \(it was killed by SIGKILL"
    ):
        dies()
