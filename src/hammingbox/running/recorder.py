"""Brings a run of a store to its end, whoever computes it: several processes may work on the same run."""

from collections.abc import Callable, Iterator, Sequence
from time import sleep

import torch

from hammingbox.evaluation.environment import environment
from hammingbox.evaluation.rows import Rows
from hammingbox.running.attempts import RowFailure
from hammingbox.running.evaluate import OnRows
from hammingbox.running.executor import BatchResult, Executor, Serial
from hammingbox.running.losses import Losses, failed_rows_of
from hammingbox.running.run_spec import Places, RunSpec
from hammingbox.running.store import Store
from hammingbox.running.store.row_locks import RowLocks

_PAUSE = 0.1
"""Seconds between two looks at rows that another process is attacking."""


class Recorder:
    """Brings a run to its end: locks batches that nobody works on, has them computed, writes them, waits for others."""

    def __init__(
        self,
        store: Store,
        run: int,
        spec: RunSpec,
        locks: RowLocks,
        on_rows: OnRows,
        losses: Losses,
        on_records: Callable[[Rows], None],
    ) -> None:
        self.store, self.run, self.spec, self.locks, self.on_rows = store, run, spec, locks, on_rows
        self._on_records = on_records
        self._losses = losses
        self._unwritten: list[RowFailure] = []
        self._session = 0
        self._executor: Executor = Serial()
        self._elsewhere: list[Places] = []

    def finish(self, executor: Executor) -> None:
        """Works until every batch is recorded, by this process or another."""
        waiting: Sequence[Places] = self.spec.batches()
        self._executor = executor
        while waiting:
            for outcome in executor.run(self.spec, self._locked(waiting)):
                if isinstance(outcome, RowFailure):
                    self._losses.add(outcome)
                    self._unwritten.append(outcome)
                else:
                    self._write(outcome)
                self._write_failures()
            self._losses.check()
            self._wait(waiting)
            waiting = self._elsewhere

    def _locked(self, batches: Sequence[Places]) -> Iterator[Places]:
        """Locks batches one by one and gives the places of their rows that are not recorded yet."""
        self._elsewhere = []
        for places in batches:
            numbers = self._numbers(places)
            mine = self.locks.take(self.run, numbers)
            # Looked up after the lock: whoever held it before may just have recorded the rows.
            done = self.store.recorded(self.run, numbers)
            missing = places[torch.tensor([number not in done for number in numbers])]
            if len(missing) and not mine:
                self._elsewhere.append(places)
                continue
            if done:
                self.on_rows(len(done), sum(done.values()))
            if len(missing):
                self.locks.release(self.run, list(done))
                yield missing
            elif mine:
                self.locks.release(self.run, numbers)

    def _write(self, batch: BatchResult) -> None:
        """Records a batch and gives its rows back."""
        self._losses.is_hopeful = True
        self._session = self._session or self.store.begin_session(
            self.run, environment() | self._executor.environment()
        )
        self.store.add(self.run, self._session, batch.rows, self.spec.data.schema, batch.seconds)
        self._on_records(batch.rows)
        self.locks.release(self.run, self._numbers(batch.places))
        self.on_rows(len(batch.rows), int(batch.rows.success.sum()))

    def _write_failures(self) -> None:
        """Notes failed rows and gives them back, once it is clear that other rows can be computed."""
        if not self._losses.is_hopeful or not self._unwritten:
            return
        failed = failed_rows_of(self._unwritten, self.spec.data)
        self.store.fail(self.run, failed)
        self.locks.release(self.run, [row.number for row in failed])
        self.on_rows(len(failed), 0)
        self._unwritten = []

    def _wait(self, batches: Sequence[Places]) -> None:
        """Pauses when other processes work on everything that is left."""
        if len(self._elsewhere) == len(batches):
            sleep(_PAUSE)

    def _numbers(self, places: Places) -> list[int]:
        return self.spec.data.numbers[places].tolist()
