"""The run store: nothing lost, nothing done twice, clear words for what cannot go on."""

import errno
import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import torch

from hammingbox import (
    ATTACKS,
    Checkpoint,
    Dataset,
    Evaluation,
    FileError,
    FullSpace,
    InputError,
    Schema,
    Target,
    ThreatModel,
    evaluate,
)
from hammingbox.errors import TooExpensiveError
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import FILE, SQLiteStore, open_store, row_locks
from toys import Case, ToyVictim, same_rows, toy_rows, toy_schema
from toys.processes import share_a_run


def test_a_store_gives_back_what_evaluate_found(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    plain = evaluate(checkpoint.victim, data, threat, ATTACKS["pcaa"](), batch_size=7, seed=3)
    with open_store(tmp_path, create=True) as store:
        found = evaluate_into(store, checkpoint, data, threat, ATTACKS["pcaa"](), batch_size=7, seed=3, place="there")
        same_rows(found.rows, plain.rows)
        (run,) = store.runs()
        same_rows(store.rows(run.id), plain.rows)
    assert (run.rows, run.name, run.victim, run.model) == (30, "pcaa", "there", "toy")
    assert (run.key.attack, run.key.budget, run.key.seed) == (repr(ATTACKS["pcaa"]()), 2, 3)
    assert run.key.defence == "standard"
    assert run.key.victim_sha256 == plain.victim_digest
    with open_store(tmp_path / FILE) as store:
        assert store.schema(run) == data.schema
        assert store.space(run) == {"kind": "full"}
        assert store.goal(run) == {"kind": "any_other"}
        (session,) = store.sessions(run.id)
    assert session.rows == 30
    assert session.seconds == pytest.approx(run.seconds)
    assert 0 < run.seconds < 60
    assert session.environment["torch"] == torch.__version__
    assert session.environment["threads"] == torch.get_num_threads()
    assert session.started <= session.updated


def test_only_missing_rows_are_attacked(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, data, threat = case
    plain = evaluate(checkpoint.victim, data, threat, ATTACKS["ga"](), batch_size=5)
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data.take(slice(0, 10)), threat, ATTACKS["ga"](), batch_size=5)
        asked: list[int] = []
        progress: list[tuple[int, int]] = []
        forward = ToyVictim.head

        def counted(self: ToyVictim, embedded: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            asked.append(len(ids))
            return forward(self, embedded, ids)

        monkeypatch.setattr(ToyVictim, "head", counted)
        evaluate_into(store, checkpoint, data.take(slice(0, 10)), threat, ATTACKS["ga"](), batch_size=5)
        assert asked == [8], "all ten rows were recorded: the victim was asked who it is, and nothing else"
        found = evaluate_into(
            store, checkpoint, data, threat, ATTACKS["ga"](), batch_size=5,
            on_rows=lambda done, broken: progress.append((done, broken)),
        )  # fmt: skip
        assert len(asked) > 2
        assert sum(done for done, _ in progress) == 30
        assert [broken for _, broken in progress] == [
            int(part.success.sum()) for part in (plain.rows.take(r) for r in torch.arange(30).split(5))
        ]
        same_rows(found.rows, plain.rows)
        assert [session.rows for session in store.sessions(1)] == [10, 20]
        assert len(store.runs()) == 1


def test_a_goal_is_kept(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    goal = Target("class 1")
    plain = evaluate(checkpoint.victim, data, threat, ATTACKS["ga"](), goal=goal)
    with open_store(tmp_path, create=True) as store:
        found = evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), goal=goal)
        same_rows(found.rows, plain.rows)
        assert store.rows(1).success_rate.rows == int((found.rows.correct & (data.labels != 1)).sum()) < 26
        assert store.goal(store.runs()[0]) == {"kind": "target", "label": "class 1"}


def test_a_refusal_is_noted_and_taken_back(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    attack = ATTACKS["exhaustive"](max_passes=2)
    with open_store(tmp_path, create=True) as store:
        with pytest.raises(TooExpensiveError):
            evaluate_into(store, checkpoint, data, threat, attack)
        assert "raise max_passes" in (store.runs()[0].refused or "")
        assert store.runs()[0].rows == 0
        evaluate_into(store, checkpoint, data.take(slice(0, 4)), threat, attack)  # wrong before: nothing to enumerate
        assert store.runs()[0].refused is None
        assert store.runs()[0].rows == 4


@pytest.mark.parametrize("categories", [256, 257, 70_000])
def test_ids_of_every_width_survive(categories: int, tmp_path: Path) -> None:
    schema = toy_schema((categories, 2))
    victim = ToyVictim(schema.cardinalities)
    ids = torch.tensor([[0, 0], [categories - 1, 1]])
    data = Dataset(schema, ids, victim.eval()(ids).argmax(1))
    with open_store(tmp_path, create=True) as store:
        found = evaluate_into(
            store, Checkpoint(victim, "toy", {}, schema), data, ThreatModel(FullSpace(schema), 1), ATTACKS["random"]()
        )
        assert torch.equal(found.rows.clean, ids)
        assert torch.equal(store.rows(1).clean, ids)


# What cannot go on ---------------------------------------------------------------------------------------------


def filled(case: Case, folder: Path) -> Path:
    checkpoint, data, threat = case
    with open_store(folder, create=True) as store:
        evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"]())
        assert store.path is not None
        return store.path


def test_a_newer_store_is_left_alone(case: Case, tmp_path: Path) -> None:
    path = filled(case, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match="got format 99, written by a newer hammingbox"):
        open_store(tmp_path, create=True)
    assert path.read_bytes() == before


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match="another program's database"):
        open_store(tmp_path, create=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "cut", "overwritten"])
def test_a_damaged_store_is_named_and_kept(case: Case, damage: str, tmp_path: Path) -> None:
    path = filled(case, tmp_path)
    content = path.read_bytes()
    broken = {
        "text": b"no database at all, but long enough to be one" * 50,
        "cut": content[: len(content) // 2],
        "overwritten": content[:4096] + b"\xa5" * 4096 + content[8192:],
    }[damage]
    path.write_bytes(broken)
    with pytest.raises(FileError, match="damaged") as caught:
        open_store(tmp_path, create=True).rows(1)
    assert ".recover" in str(caught.value)
    assert path.read_bytes() == broken


def test_a_damaged_page_is_found_before_anything_is_written(case: Case, tmp_path: Path) -> None:
    path = filled(case, tmp_path)
    content = path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    assert len(content) > 4 * size
    for begin in range(size, len(content), size):
        path.write_bytes(content[:begin] + b"\xa5" * size + content[begin + size :])
        with pytest.raises(FileError, match="damaged"):
            open_store(tmp_path, create=True)
    path.write_bytes(content)
    with open_store(tmp_path, create=True) as store:
        assert len(store.rows(1)) == 30


def test_a_missing_store_and_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="got no such file"):
        open_store(tmp_path)
    assert not (tmp_path / FILE).exists()
    with pytest.raises(FileError, match="expected to write"):
        open_store(Path("/dev/null/x"), create=True)
    with open_store(tmp_path, create=True) as store, pytest.raises(InputError, match="number of a run"):
        store.run(7)


def test_a_full_disk_keeps_whole_batches_and_the_run_goes_on(case: Case, schema: Schema, tmp_path: Path) -> None:
    checkpoint, _, threat = case
    data = Dataset(schema, *toy_rows(schema, checkpoint.victim, rows=120))  # more than a page of the file holds
    plain = evaluate(checkpoint.victim, data, threat, ATTACKS["ga"](), batch_size=1)
    with open_store(tmp_path, create=True) as store:
        assert isinstance(store, SQLiteStore)
        connection = store._database.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(FileError, match=r"full disk\. All rows recorded so far are kept"):
            evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), batch_size=1)
        kept = store.rows(1)
        assert 0 < len(kept) < 120
        same_rows(kept, plain.rows.take(torch.arange(len(kept))))
        connection.execute("PRAGMA max_page_count = 1000000")
        same_rows(evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), batch_size=1).rows, plain.rows)


def test_a_reader_needs_no_permission_to_write(case: Case, tmp_path: Path) -> None:
    path = filled(case, tmp_path)
    before = sorted(file.name for file in tmp_path.iterdir())
    with open_store(path, readonly=True) as store:
        assert store.runs()[0].rows == 30
        with pytest.raises(FileError, match="readonly"):
            store.refuse(1, "a reader")
    assert sorted(file.name for file in tmp_path.iterdir()) == before, "nothing is left behind"
    beside = tmp_path / f"{FILE}-shm"
    beside.symlink_to(tmp_path / "no" / "place")  # as on a read-only disk, SQLite cannot make its file here
    with pytest.raises(FileError):
        open_store(path)
    with open_store(path, readonly=True) as store:
        assert len(store.rows(1)) == 30
    beside.unlink()
    with open_store(path) as writer:
        writer.refuse(1, "late")  # now a log lies beside the store: without it a reader would miss this
        other = tmp_path / "copy"
        other.mkdir()
        for name in (FILE, f"{FILE}-wal"):
            (other / name).write_bytes((tmp_path / name).read_bytes())
        (other / f"{FILE}-shm").symlink_to(tmp_path / "no" / "place")
        with pytest.raises(FileError, match=r"together with results\.sqlite-wal.* Copy the folder"):
            open_store(other, readonly=True)
        with open_store(path, readonly=True) as store:
            assert store.runs()[0].refused == "late"


def test_what_is_read_in_a_snapshot_is_of_one_moment(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as writer:
        evaluate_into(writer, checkpoint, data.take(slice(0, 10)), threat, ATTACKS["ga"]())
        with open_store(tmp_path, readonly=True) as reader, reader.snapshot():
            (run,) = reader.runs()
            evaluate_into(writer, checkpoint, data, threat, ATTACKS["ga"]())
            assert len(reader.rows(run.id)) == run.rows == 10
        assert writer.runs()[0].rows == 30


def test_a_store_locked_for_too_long_is_named(case: Case, tmp_path: Path) -> None:
    filled(case, tmp_path)
    with open_store(tmp_path) as one, open_store(tmp_path, wait=0.05) as two:
        assert isinstance(one, SQLiteStore)
        with one._database.write():
            assert two.runs(), "readers do not wait"
            with pytest.raises(FileError, match="a lock that another program holds"):
                two.refuse(1, "late")


def test_without_locks_a_batch_done_twice_is_recorded_once(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, data, threat = case
    monkeypatch.setattr(row_locks, "_system_locks", lambda: None)
    with open_store(tmp_path, create=True) as one, open_store(tmp_path, create=True) as two:
        attack = ATTACKS["ga"]()
        others: list[Evaluation] = []

        def meanwhile(_done: int, _fallen: int) -> None:
            if not others:  # the other writer does everything while the first is between two batches
                others.append(evaluate_into(two, checkpoint, data, threat, attack, batch_size=10))

        found = evaluate_into(one, checkpoint, data, threat, attack, batch_size=10, on_rows=meanwhile)
        same_rows(found.rows, others[0].rows)
        session = one.begin_session(1, {})
        assert one.add(1, session, found.rows, data.schema, 5.0) == 0, "all rows are there"
        assert [s.rows for s in one.sessions(1)] == [10, 20, 0]
        assert one.sessions(1)[-1].seconds == 0.0
        same_rows(one.rows(1), found.rows)


def test_two_processes_share_a_run(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    meet = context.Barrier(2)
    workers = [context.Process(target=share_a_run, args=(tmp_path, meet)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with open_store(tmp_path) as store:
        (run,) = store.runs()
        assert run.rows == 30
        sessions = store.sessions(run.id)
        assert sum(session.rows for session in sessions) == 30, "no row was done twice"
        assert len(sessions) == 2
        assert all(session.rows for session in sessions), "both had some"
        schema = store.schema(run)
        victim = ToyVictim(schema.cardinalities)
        x, y = toy_rows(schema, victim, rows=30)
        plain = evaluate(
            victim, Dataset(schema, x, y), ThreatModel(FullSpace(schema), 2), ATTACKS["pcaa"](), batch_size=2
        )
        same_rows(store.rows(run.id), plain.rows)


def test_a_goal_with_an_unknown_class_leaves_no_run(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as store:
        with pytest.raises(InputError, match=r"known class .*got 'class 7'. Did you mean 'class [012]'"):
            evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), goal=Target("class 7"))
        assert store.runs() == []


def test_a_file_system_without_locks_does_not_stop_a_run(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, data, threat = case
    fcntl = pytest.importorskip("fcntl")

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", none)
    with open_store(tmp_path, create=True) as store:
        assert len(evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"]()).rows) == 30
    monkeypatch.setattr(fcntl, "lockf", lambda *_: none_of(errno.EAGAIN))
    with closing(row_locks.FileLocks(tmp_path / FILE)) as locks:
        assert not locks.take(1, [3])


def none_of(code: int) -> None:
    raise OSError(code, "held by another process")
