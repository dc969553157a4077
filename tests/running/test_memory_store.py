"""A store in memory behaves like the one on disk."""

from pathlib import Path

import pytest
import torch

from hammingbox import ATTACKS, AnyOther, MemoryStore, Target, evaluate, open_store
from hammingbox.running.record import evaluate_into, refuse_into
from toys import Case, same_rows


def test_both_stores_hold_the_same(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as disk, MemoryStore() as memory:
        for store in (disk, memory):
            evaluate_into(store, checkpoint, data.take(slice(0, 10)), threat, ATTACKS["pcaa"](), batch_size=4)
            evaluate_into(store, checkpoint, data, threat, ATTACKS["pcaa"](), batch_size=4, place="there")
            evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), goal=Target("class 1"), split="train")
        for one, other in zip(disk.runs(), memory.runs(), strict=True):
            assert (one.id, one.key, one.name, one.victim, one.model, one.rows) == (
                other.id, other.key, other.name, other.victim, other.model, other.rows,
            )  # fmt: skip
            same_rows(disk.rows(one.id), memory.rows(one.id))
            assert disk.schema(one) == memory.schema(one)
            assert disk.goal(one) == memory.goal(one)
            assert [s.rows for s in disk.sessions(one.id)] == [s.rows for s in memory.sessions(one.id)]
        numbers = data.numbers[:3].tolist()
        assert disk.recorded(1, numbers) == memory.recorded(1, numbers)
        same_rows(disk.rows(1, numbers), memory.rows(1, numbers))


def test_seconds_of_rows_that_were_known_do_not_count(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    rows = evaluate(checkpoint.victim, data, threat, ATTACKS["ga"]()).rows
    with open_store(tmp_path, create=True) as disk, MemoryStore() as memory:
        for store in (disk, memory):
            evaluate_into(store, checkpoint, data.take(slice(0, 2)), threat, ATTACKS["ga"]())
            before = store.run(1).seconds
            session = store.begin_session(1, {"torch": "none"})
            for some, seconds, new in ((slice(2, 6), 8.0, 4), (slice(4, 8), 6.0, 2), (slice(4, 8), 5.0, 0)):
                part = rows.take(torch.arange(30)[some])
                assert store.add(1, session, part, data.schema, seconds) == new
            last = store.sessions(1)[-1]
            assert (last.rows, last.seconds) == (6, 8.0 + 6.0 * 2 / 4)
            assert store.run(1).seconds == pytest.approx(before + 11.0)
            assert store.run(1).rows == 8
            assert store.add(1, session, rows.take(torch.tensor([8])), data.schema, 3.0) == 1
            assert store.run(1).seconds == pytest.approx(before + 14.0), "a batch may be one row"


def test_a_run_without_rows_is_empty(case: Case) -> None:
    checkpoint, data, threat = case
    with MemoryStore() as store:
        found = evaluate_into(store, checkpoint.victim, data, threat, ATTACKS["ga"]())
        same_rows(found.rows, evaluate(checkpoint.victim, data, threat, ATTACKS["ga"]()).rows)
        assert store.runs()[0].model == "toyvictim", "a victim without a checkpoint is named by its class"
        assert torch.equal(store.rows(1, []).labels, torch.empty(0, dtype=torch.int64))


def test_a_run_that_was_refused_has_no_rows_and_its_reason(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as disk, MemoryStore() as memory:
        for store in (disk, memory):
            for goal, reason in ((None, "too dear"), (None, "still too dear"), (Target("class 1"), "too dear")):
                refuse_into(store, checkpoint, data, threat, ATTACKS["ga"](), reason, goal=goal)
            assert [(run.refused, run.rows) for run in store.runs()] == [("still too dear", 0), ("too dear", 0)]
            assert [store.goal(run) for run in store.runs()] == [AnyOther().to_json(), Target("class 1").to_json()]
            rows = store.rows(1)
            assert {name: len(getattr(rows, name)) for name in rows.__dataclass_fields__} == dict.fromkeys(
                rows.__dataclass_fields__, 0
            )
            assert rows.clean.shape == (0, len(data.schema.features))
            assert rows.logits.shape == (0, len(data.schema.classes))
            evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"]())
            assert store.run(1).refused is None
        same_rows(disk.rows(1), memory.rows(1))


def test_a_reason_that_is_known_is_not_written_again(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, data, threat = case
    written: list[str] = []
    with MemoryStore() as store:
        refuse = store.refuse
        monkeypatch.setattr(store, "refuse", lambda run, reason: refuse(run, written.append(reason) or reason))
        for reason in ("a", "a", "b"):
            refuse_into(store, checkpoint, data, threat, ATTACKS["ga"](), reason)
    assert written == ["a", "b"]
