"""A store in memory, for runs that nobody wants to keep: the same interface, and gone with the process."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.running.store.records import Run, RunKey, Session
from hammingbox.running.store.row_locks import NoLocks, RowLocks
from hammingbox.running.store.store import Store, document_digest, now


class MemoryStore(Store):
    """Runs and their rows in this process."""

    def __init__(self) -> None:
        self.path = None
        self._runs: list[Run] = []
        self._documents: dict[str, Any] = {}
        self._sessions: dict[int, list[Session]] = {}
        self._rows: dict[int, list[Rows]] = {}
        self._broken: dict[int, dict[int, bool]] = {}
        self._failures: dict[int, dict[int, FailedRow]] = {}

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        return list(self._runs)

    def run(self, number: int) -> Run:
        """One run.

        Raises:
            InputError: the store has no such run.
        """
        if not 1 <= number <= len(self._runs):
            raise InputError(f"expected the number of a run (1..{len(self._runs)}), got {number}.")
        return self._runs[number - 1]

    def sessions(self, run: int) -> list[Session]:
        """The sessions of a run, oldest first."""
        return list(self._sessions[run])

    def document(self, digest: str) -> Any:
        """A JSON document.

        Raises:
            FileError: the store does not have it.
        """
        if digest not in self._documents:
            raise FileError(f"expected the document {digest[:12]} in the store, got none.")
        return self._documents[digest]

    def recorded(self, run: int, numbers: Sequence[int]) -> dict[int, bool]:
        """Which of these rows are recorded, and whether they were broken."""
        known = self._broken[run]
        return {number: known[number] for number in numbers if number in known}

    def rows(self, run: int, numbers: Sequence[int] | None = None, *, above: int = -1, most: int | None = None) -> Rows:
        """The records of a run, or those of some rows that are there, in the order of their numbers."""
        if not self._rows[run]:
            return _no_rows(self.schema(self.run(run)))
        rows = Rows.join(self._rows[run])
        rows = rows.take(rows.numbers.argsort())
        wanted = rows.numbers > above
        if numbers is not None:
            wanted &= torch.isin(rows.numbers, torch.tensor(list(numbers)))
        return rows.take(wanted.nonzero()[:most, 0])

    def totals(self, run: int) -> RunTotals:
        """What the records of a run add up to."""
        found = RunTotals(len(self.schema(self.run(run)).classes))
        for rows in self._rows[run]:
            found.add(rows)
        return found

    def broken(self, run: int, most: int) -> list[int]:
        """The first numbers of rows that a run broke."""
        return sorted(number for number, broken in self._broken[run].items() if broken)[:most]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Nobody else writes here."""
        yield

    def begin(
        self,
        key: RunKey,
        *,
        documents: Mapping[str, Any],
        name: str,
        victim: str,
        model: str,
        data_sha256: str = "",
        source: str = "",
    ) -> int:
        """The number of the run with this key; a new one when there is none."""
        self._documents |= {digest: json.loads(json.dumps(value)) for digest, value in documents.items()}
        known = next((run for run in self._runs if run.key == key), None)
        if known is None and data_sha256:
            known = next(
                (
                    run
                    for run in self._runs
                    if run.data_sha256 == data_sha256 and replace(run.key, data=key.data) == key
                ),
                None,
            )
        if known is not None:
            self._change(known.id, name=name, victim=victim)
            return known.id
        number = len(self._runs) + 1
        self._runs.append(Run(number, key, name, victim, model, now(), None, 0, 0.0, data_sha256, source))
        self._sessions[number], self._rows[number], self._failures[number] = [], [], {}
        self._broken[number] = {}
        return number

    def begin_session(self, run: int, environment: dict[str, Any]) -> int:
        """Notes that somebody starts or continues a run."""
        self._documents[document_digest(environment)] = environment
        self._sessions[run].append(Session(now(), now(), 0, 0.0, environment))
        return len(self._sessions[run])

    def refuse(self, run: int, reason: str) -> None:
        """Notes that the attack refused to run."""
        self._change(run, refused=reason)

    def add(self, run: int, session: int, rows: Rows, schema: Schema, seconds: float) -> int:  # noqa: ARG002
        """Records the rows of a batch that are new."""
        known = self.recorded(run, rows.numbers.tolist())
        new = rows.take(torch.tensor([number not in known for number in rows.numbers.tolist()], dtype=torch.bool))
        if len(new):
            self._rows[run].append(new)
            self._broken[run] |= dict(zip(new.numbers.tolist(), new.success.tolist(), strict=True))
        for number in rows.numbers.tolist():
            self._failures[run].pop(number, None)
        share = seconds * len(new) / max(len(rows), 1)
        before = self._sessions[run][session - 1]
        self._sessions[run][session - 1] = replace(
            before, updated=now(), rows=before.rows + len(new), seconds=before.seconds + share
        )
        facts = self.run(run)
        self._change(run, rows=facts.rows + len(new), seconds=facts.seconds + share, refused=None)
        return len(new)

    def fail(self, run: int, failed: Sequence[FailedRow]) -> None:
        """Notes rows that nobody could compute."""
        self._failures[run] |= {row.number: row for row in failed}

    def failures(self, run: int) -> list[FailedRow]:
        """Rows that could not be computed and have not been recorded since, in the order of their numbers."""
        return sorted(self._failures[run].values(), key=lambda row: row.number)

    def _change(self, run: int, **facts: Any) -> None:
        self._runs[run - 1] = replace(self._runs[run - 1], **facts)

    def row_locks(self) -> RowLocks:
        """None are needed."""
        return NoLocks()

    def close(self) -> None:
        """Nothing to close."""


def _no_rows(schema: Schema) -> Rows:
    whole, mask = torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.bool)
    ids, logits = torch.empty((0, len(schema.features)), dtype=torch.int64), torch.empty((0, len(schema.classes)))
    return Rows(
        numbers=whole, labels=whole, clean=ids, adversarial=ids, clean_logits=logits, logits=logits, correct=mask,
        attacked=mask, success=mask, distance=whole, margin=torch.empty(0), forward=whole, backward=whole,
        stage=whole, proven=mask,
    )  # fmt: skip
