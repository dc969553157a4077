"""Runs whose rows are counted and not held: the same numbers as from the rows, read in parts or added up by SQLite."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import ATTACKS, Dataset, FileError, FullSpace, MaskedSpace, ThreatModel
from hammingbox.evaluation.class_rates import class_rates_of
from hammingbox.evaluation.diagnose import diagnose_rows, diagnose_totals
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import COUNTS
from hammingbox.running.record import RecordedRun, evaluate_into, record_into
from hammingbox.running.store import FILE, MemoryStore, Store, open_store
from hammingbox.running.store.seals import checksum
from hammingbox.threat.goal import Target
from hammingbox.victims.checkpoint import Checkpoint
from toys import ToyVictim, toy_rows, toy_schema

SCHEMA = toy_schema((3, 2, 5, 3, 4), classes=3)
VICTIM = ToyVictim(SCHEMA.cardinalities, 3)


def data(rows: int = 40) -> Dataset:
    ids, labels = toy_rows(SCHEMA, VICTIM, 40)
    labels[:5] = (labels[:5] + 1) % 3
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    return Dataset(SCHEMA, ids, labels, "toy data", order * 3).take(slice(0, rows))


def run(store: Store, rows: Dataset, **settings: Any) -> RecordedRun:
    threat = ThreatModel(FullSpace(SCHEMA), 2)
    checkpoint = Checkpoint(VICTIM, "mlp", {}, SCHEMA)
    return record_into(store, checkpoint, rows, threat, ATTACKS["ga"](), batch_size=7, **settings)


@pytest.mark.parametrize("goal", [None, Target(SCHEMA.classes[1])], ids=["any", "target"])
def test_totals_are_those_of_the_rows(goal: Target | None, tmp_path: Path) -> None:
    held: list[Rows] = []
    with open_store(tmp_path, create=True) as store:
        found = run(store, data(), goal=goal, on_records=held.append)
        rows = Rows.join(held)
        for totals in (found.totals, store.totals(found.id), store.totals_with_directions(store.run(found.id))):
            assert totals.summary() == rows.summary()
        assert found.totals.classes(SCHEMA.classes) == class_rates_of(rows, SCHEMA.classes)
        assert store.totals_with_directions(store.run(found.id)).classes(SCHEMA.classes) == class_rates_of(
            rows, SCHEMA.classes
        )
    assert diagnose_totals(found.totals, SCHEMA, goal=goal) == diagnose_rows(rows, SCHEMA, goal=goal)


def test_the_same_whoever_holds_the_rows(tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store, MemoryStore() as other:
        found = run(store, data())
        assert run(other, data()).totals.summary() == found.totals.summary()
        assert other.totals(1).summary() == store.totals(1).summary()
        assert (
            other.broken(1, 4)
            == store.broken(1, 4)
            == sorted(store.rows(1).numbers[store.rows(1).success].tolist())[:4]
        )
        for one in (store, other):
            whole = one.rows(1)
            for size in (1, 7, 40, 1000):
                parts = list(one.blocks(1, size))
                assert max(map(len, parts)) <= size
                assert torch.equal(torch.cat([part.numbers for part in parts]), whole.numbers)
                assert torch.equal(torch.cat([part.logits for part in parts]), whole.logits)


def test_a_run_that_goes_on_counts_every_row_once(tmp_path: Path) -> None:
    with open_store(tmp_path / "whole", create=True) as store:
        whole = run(store, data())
    with open_store(tmp_path / "parts", create=True) as store:
        first = run(store, data(15))
        assert first.totals["rows"] == 15
        seen: list[int] = []
        found = run(store, data(), on_records=lambda rows: seen.extend(rows.numbers.tolist()))
        assert sorted(seen) == sorted(data().numbers.tolist())
        assert found.totals.summary() == whole.totals.summary()
        again = run(store, data(15))  # rows of a larger draw are not counted
        assert again.totals.summary() == first.totals.summary()


def test_the_order_of_the_data(tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        run(store, data(15))
        found = evaluate_into(store, Checkpoint(VICTIM, "mlp", {}, SCHEMA), data(), ThreatModel(FullSpace(SCHEMA), 2),
                              ATTACKS["ga"](), batch_size=7)  # fmt: skip
    assert torch.equal(found.rows.numbers, data().numbers)
    assert torch.equal(found.rows.clean, data().ids.long())


def sums_of(folder: Path) -> tuple[int, list[list[int]]]:
    with open_store(folder, readonly=True) as store:
        return store.run(1).rows, store.known_totals(1).counts.tolist()


def test_kept_totals_are_those_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path, create=True) as store:
        run(store, data(15))
        run(store, data())
        assert store.damage(1) == []
        totals = store.totals(1)
    # From here on, whoever reads rows in order to add them up is noticed.
    monkeypatch.setattr("hammingbox.running.store.sqlite_store.add_up_rows", lambda *_: pytest.fail("rows were read"))
    assert sums_of(tmp_path) == (len(data()), totals.counts.tolist())


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE totals",
        "UPDATE totals SET counts = zeroblob(length(counts))",
        "UPDATE totals SET names = 'rows'",
        "UPDATE totals SET digest = 'abc'",
    ],
)
def test_totals_in_doubt_are_added_up_again(change: str, tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        run(store, data(15))
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute(change)
    connection.close()
    with open_store(tmp_path) as store:
        assert store.known_totals(1).counts.tolist() == store.totals(1).counts.tolist()
        run(store, data())
        assert store.damage(1) == []
        totals = store.totals(1)
    assert sums_of(tmp_path) == (len(data()), totals.counts.tolist())


def test_a_version_that_keeps_no_totals_may_write_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path, create=True) as store:
        run(store, data(15))
    with monkeypatch.context() as earlier, open_store(tmp_path) as store:
        earlier.setattr("hammingbox.running.store.sqlite_store.keep_totals", lambda *_: True)
        run(store, data())
        totals = store.totals(1)
    assert sums_of(tmp_path) == (len(data()), totals.counts.tolist())


def test_totals_of_a_forger_are_noticed(tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        run(store, data())
        forged = store.totals(1)
    forged.counts[:, 3] = 0
    with sqlite3.connect(tmp_path / FILE) as connection:
        (records, digest) = connection.execute("SELECT records, digest FROM totals").fetchone()
        values = (1, records, digest, ",".join(COUNTS), forged.counts.tobytes())
        connection.execute("UPDATE totals SET counts = ?, checksum = ?", (values[-1], checksum(values)))
    connection.close()
    with open_store(tmp_path, readonly=True) as store:
        assert store.damage(1) == ["totals of run 1: not those of its rows"]


@pytest.mark.parametrize("change", ["success = 'yes'", "correct = 7", "forward = 2.5", "label = 9", "distance = -1",
                                    "forward = 9223372036854775807"])  # fmt: skip
def test_sums_over_damaged_records_are_refused(change: str, tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        run(store, data())
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute(f"UPDATE rows SET {change} WHERE number IN (SELECT number FROM rows LIMIT 2)")
    connection.close()
    with open_store(tmp_path, readonly=True) as store, pytest.raises(FileError, match="damaged"):
        store.totals(1)


def test_a_summary_is_that_of_the_evaluation() -> None:
    goal = Target(SCHEMA.classes[1])
    with MemoryStore() as store:
        found = run(store, data(), goal=goal, seed=3).summary()
        wanted = evaluate_into(
            store, Checkpoint(VICTIM, "mlp", {}, SCHEMA), data(), ThreatModel(FullSpace(SCHEMA), 2), ATTACKS["ga"](),
            goal=goal, seed=3, batch_size=7,
        ).summary()  # fmt: skip
    assert found == wanted
    assert found["attack"] == repr(ATTACKS["ga"]())


class Cursed(ToyVictim):
    """Raises at rows whose first value is the last one; nobody can write or replace it below."""

    is_healed = False

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        if not self.is_healed and bool((ids[:, 0] == 2).any()):
            raise RuntimeError("no such row")
        return super().forward(ids)


@pytest.mark.parametrize("on_disk", [True, False])
def test_rows_that_nobody_can_compute_are_noted_and_tried_again(on_disk: bool, tmp_path: Path) -> None:
    victim, rows = Cursed(SCHEMA.cardinalities, 3), data()
    checkpoint, threat = Checkpoint(victim, "mlp", {}, SCHEMA), ThreatModel(MaskedSpace(SCHEMA, immutable=["f0"]), 1)
    lost = sorted(rows.numbers[rows.ids[:, 0] == 2].tolist())
    assert 0 < len(lost) < 30
    with open_store(tmp_path, create=True) if on_disk else MemoryStore() as store:
        told: list[tuple[int, int]] = []
        found = record_into(
            store, checkpoint, rows, threat, ATTACKS["ga"](), batch_size=7, on_rows=lambda *two: told.append(two)
        )
        assert [row.number for row in found.failed] == [row.number for row in store.failures(1)] == lost
        assert all("no such row" in row.reason for row in found.failed)
        assert found.totals["rows"] == store.run(1).rows == 40 - len(lost)
        assert sum(done for done, _ in told) == 40
        assert sum(broken for _, broken in told) == found.totals.summary()["success"]
        assert store.damage(1) == []
        victim.is_healed = True
        told.clear()
        again = record_into(
            store, checkpoint, rows, threat, ATTACKS["ga"](), batch_size=7, on_rows=lambda *two: told.append(two)
        )
        assert again.totals["rows"] == sum(done for done, _ in told) == 40
        assert sum(broken for _, broken in told) == again.totals.summary()["success"] > 0
        assert store.failures(1) == list(again.failed) == []
