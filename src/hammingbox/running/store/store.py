"""The interface of a store of results: what runs, reports and checks need of it, and nothing else."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, HammingboxError
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.files import sha256
from hammingbox.running.store.records import Run, RunKey, Session
from hammingbox.running.store.row_locks import RowLocks
from hammingbox.threat.goal import Goal, check_goal_document
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import check_space_document

BLOCK_ROWS = 8192
"""Records that are read at once where a run may have millions."""


class Store(ABC):
    """Runs and their rows, one record per row. Use it as a context manager, or close it.

    Documents (schemas, spaces, goals, environments) are JSON, kept once under their digest.
    """

    path: Path | None
    """The file, if the store has one."""

    # Reading ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def runs(self) -> list[Run]:
        """Every run, oldest first."""

    @abstractmethod
    def run(self, number: int) -> Run:
        """One run.

        Raises:
            InputError: the store has no such run.
        """

    def run_numbers(self) -> list[int]:
        """The numbers of all runs, oldest first, also of runs whose other values are damaged."""
        return [run.id for run in self.runs()]

    @abstractmethod
    def sessions(self, run: int) -> list[Session]:
        """The sessions of a run, oldest first."""

    @abstractmethod
    def document(self, digest: str) -> Any:
        """A JSON document.

        Raises:
            FileError: the store does not have it.
        """

    @abstractmethod
    def recorded(self, run: int, numbers: Sequence[int]) -> dict[int, bool]:
        """Which of these rows are recorded, and whether they were broken."""

    @abstractmethod
    def rows(self, run: int, numbers: Sequence[int] | None = None, *, above: int = -1, most: int | None = None) -> Rows:
        """The records of a run, or those of some rows that are there, in the order of their numbers.

        Args:
            run: its number.
            numbers: of the rows; all of them by default.
            above: only rows with a larger number.
            most: no more rows than this.

        Raises:
            FileError: a record does not fit the run's schema.
        """

    @abstractmethod
    def totals(self, run: int) -> RunTotals:
        """What the records of a run add up to, without holding them. What broken rows become is not counted.

        Raises:
            FileError: a record does not fit the run's schema.
        """

    def known_totals(self, run: int) -> RunTotals:
        """The same without reading records, where the store has kept what they add up to.

        Records that were edited since are not noticed here; `verify` notices them.

        Raises:
            FileError: nothing reliable was kept, and a record does not fit the run's schema.
        """
        return self.totals(run)

    @abstractmethod
    def broken(self, run: int, most: int) -> list[int]:
        """The first numbers of rows that a run broke."""

    @abstractmethod
    def failures(self, run: int) -> list[FailedRow]:
        """Rows that could not be computed and have not been recorded since, in the order of their numbers."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Inside it, runs and rows are of one moment, whatever others record meanwhile."""

    def damage(self, run: int | None = None) -> list[str]:  # noqa: ARG002
        """What does not fit the checksums and seals of a run's rows, or of everything else without a number."""
        return []

    def is_migrated(self, run: int) -> bool:  # noqa: ARG002
        """Whether rows of a run were written by an earlier format and sealed only when the file was migrated."""
        return False

    # Writing ---------------------------------------------------------------------------------------------------

    @abstractmethod
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
        """The number of the run with this key; a new one when there is none.

        An own file is known by its content: a run whose key names another path of the same content is the same run.

        Args:
            key: what identifies the run.
            documents: those that the key names, by digest.
            name: the attack's short name.
            victim: where the checkpoint is now.
            model: the victim's name in the table of victims.
            data_sha256: hash of the content of an own file.
            source: where an own file is now and how it is read.
        """

    @abstractmethod
    def begin_session(self, run: int, environment: dict[str, Any]) -> int:
        """Notes that somebody starts or continues a run."""

    @abstractmethod
    def refuse(self, run: int, reason: str) -> None:
        """Notes that the attack refused to run."""

    @abstractmethod
    def add(self, run: int, session: int, rows: Rows, schema: Schema, seconds: float) -> int:
        """Records a batch as a whole or not at all; a row that another writer recorded meanwhile is left as it is.

        Returns:
            How many rows were new.

        Raises:
            FileError: the batch could not be written; nothing of it was recorded.
        """

    @abstractmethod
    def fail(self, run: int, failed: Sequence[FailedRow]) -> None:
        """Notes rows that nobody could compute. They are no records: whoever continues the run tries them again."""

    def check_there(self) -> None:  # noqa: B027
        """Checks that what was recorded can be found again.

        Raises:
            FileError: the file was deleted or replaced since it was opened.
        """

    @abstractmethod
    def row_locks(self) -> RowLocks:
        """Locks by which several processes share the rows of a run."""

    @abstractmethod
    def close(self) -> None:
        """Closes the store."""

    # What follows from the rest --------------------------------------------------------------------------------

    def blocks(self, run: int, size: int = BLOCK_ROWS) -> Iterator[Rows]:
        """The records of a run in the order of their numbers, a few at a time.

        Raises:
            FileError: a record does not fit the run's schema.
        """
        above = -1
        while len(rows := self.rows(run, above=above, most=size)):
            above = int(rows.numbers[-1])
            yield rows

    def totals_with_directions(self, run: Run) -> RunTotals:
        """The same as `totals`, and what broken rows become; every record is read."""
        found = RunTotals(len(self.schema(run).classes))
        for rows in self.blocks(run.id):
            found.add(rows)
        return found

    def schema(self, run: Run) -> Schema:
        """What the ids of a run mean.

        Raises:
            FileError: the document is damaged.
        """
        document = self.document(run.key.schema_sha256)
        try:
            return Schema.from_json(document)
        except (HammingboxError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise FileError(
                f"expected the schema of run {run.id} in the store, got a damaged one ({error})."
            ) from error

    def space(self, run: Run) -> dict[str, Any]:
        """S(x) of a run as JSON, see `space_from_json`."""
        found = self.document(run.key.space_sha256)
        check_space_document(found)
        return dict(found)

    def goal(self, run: Run) -> dict[str, Any]:
        """The goal of a run as JSON, see `goal_from_json`."""
        found = self.document(run.key.goal_sha256)
        check_goal_document(found)
        return dict(found)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def document_digest(value: Any) -> str:
    """Identifies a JSON document: the hash of its one canonical text."""
    return sha256(document_text(value).encode())


def document_text(value: Any) -> str:
    """The canonical text of a JSON document."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def space_digest(space: Space) -> str:
    """Identifies S(x): equal digests allow equal changes.

    Raises:
        InputError: nothing tells this space from others.
    """
    space.check_identity()
    return document_digest(space.to_json())


def goal_digest(goal: Goal) -> str:
    """Identifies a goal: equal digests mean equal success."""
    return document_digest(goal.to_json())


def now() -> str:
    """UTC time as stores write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
