"""A run is a value: whoever executes its batches, in any order, ends with the same records."""

import multiprocessing
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest
import torch

from hammingbox import (
    ATTACKS,
    Executor,
    FullSpace,
    InputError,
    MaskedSpace,
    MemoryStore,
    RunSpec,
    Schema,
    Serial,
    Splits,
    ThreatModel,
    evaluate,
)
from hammingbox.running.executor import Outcome
from hammingbox.running.record import evaluate_into
from hammingbox.types import Embedded, Ids
from toys import Case, ToyVictim, same_rows
from toys.processes import compute_elsewhere


class Backwards(Executor):
    """Takes all batches and computes the last one first."""

    def run(self, spec: RunSpec, batches: Iterable[torch.Tensor]) -> Iterator[Outcome]:
        yield from reversed(list(Serial().run(spec, batches)))


class Lazy(Serial):
    """Notes how many batches were taken when each result came back."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.count = 0

    def run(self, spec: RunSpec, batches: Iterable[torch.Tensor]) -> Iterator[Outcome]:
        def counted() -> Iterator[torch.Tensor]:
            for batch in batches:
                self.count += 1
                yield batch

        for result in super().run(spec, counted()):
            self.taken.append(self.count)
            yield result


@pytest.mark.parametrize("name", ["pcaa", "auto", "ga"])
def test_the_order_of_batches_does_not_matter(case: Case, name: str) -> None:
    checkpoint, data, threat = case
    plain = evaluate(checkpoint.victim, data, threat, ATTACKS[name](), batch_size=7)
    other = evaluate(checkpoint.victim, data, threat, ATTACKS[name](), batch_size=7, executor=Backwards())
    same_rows(plain.rows, other.rows)
    with MemoryStore() as store:
        recorded = evaluate_into(
            store, checkpoint, data, threat, ATTACKS[name](), batch_size=7, executor=Backwards()
        )  # fmt: skip
        same_rows(recorded.rows, plain.rows)
        same_rows(store.rows(1), plain.rows)


def test_batches_are_locked_one_by_one(case: Case) -> None:
    checkpoint, data, threat = case
    executor = Lazy()
    with MemoryStore() as store:
        evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"](), batch_size=7, executor=executor)
    assert executor.taken == [1, 2, 3, 4, 5], "a batch is taken only when the one before it is recorded"


@pytest.mark.parametrize("name", ["pcaa", "auto"])
def test_a_run_can_be_sent_to_another_process(case: Case, name: str) -> None:
    checkpoint, data, threat = case
    spec = RunSpec(checkpoint.victim, data, threat, ATTACKS[name](), batch_size=10)
    expected = spec.compute(spec.batches()[1])
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pickle.loads(pool.submit(compute_elsewhere, pickle.dumps((spec, spec.batches()[1]))).result(120))
    same_rows(found, expected)


def test_parts_that_do_not_fit(case: Case, splice_splits: Splits) -> None:
    checkpoint, data, threat = case
    with pytest.raises(InputError, match="of one schema"):
        RunSpec(checkpoint.victim, splice_splits.test, threat, ATTACKS["ga"]())
    with pytest.raises(InputError, match="batch size"):
        RunSpec(checkpoint.victim, data, threat, ATTACKS["ga"](), batch_size=0)


def test_spaces_can_be_sent(schema: Schema) -> None:
    ids = torch.zeros(2, 5, dtype=torch.int64)
    for space in (FullSpace(schema), MaskedSpace(schema, immutable=["f2"], forbidden={"*": ["c1"]})):
        again = pickle.loads(pickle.dumps(space))
        assert torch.equal(again.candidates(ids).valid, space.candidates(ids).valid)
        assert again.to_json() == space.to_json()


class Allergic(ToyVictim):
    """Raises at rows whose first value is one of some."""

    bad: tuple[int, ...] = (0,)

    def embed(self, ids: Ids) -> Embedded:
        if bool(torch.isin(ids[:, 0], torch.tensor(self.bad)).any()):
            raise ValueError("cannot answer")
        return super().embed(ids)


def _note(seen: list[tuple[int, int]], done: int, broken: int) -> None:
    seen.append((done, broken))


def test_failed_rows_are_counted_as_done(case: Case) -> None:
    _, data, _ = case
    threat = ThreatModel(MaskedSpace(data.schema, immutable=["f0"]), 1)
    victim = Allergic(data.schema.cardinalities)
    bad = int((data.ids[:, 0] == 0).sum())
    assert 0 < bad < len(data)
    for call in (evaluate, partial(evaluate_into, MemoryStore())):
        seen: list[tuple[int, int]] = []
        found = call(victim, data, threat, ATTACKS["ga"](), on_rows=partial(_note, seen))
        assert sum(done for done, _ in seen) == len(data)
        assert sum(broken for _, broken in seen) == found.success_rate.hits
        assert len(found.failed) == bad
        assert len(found.rows) == len(data) - bad


def test_where_no_row_can_be_computed_nothing_is_noted(case: Case) -> None:
    _, data, threat = case
    victim = Allergic(data.schema.cardinalities)
    victim.bad = (0, 1, 2)
    with MemoryStore() as store:
        with pytest.raises(Exception, match="cannot answer"):
            evaluate_into(store, victim, data.take(slice(0, 3)), threat, ATTACKS["ga"]())
        assert store.failures(1) == []
