"""Reading a store: runs, the sittings they were made in, and their rows."""

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.evaluate import attackable
from hammingbox.evaluation.rows import Rows
from hammingbox.running.store.blobs import blobs_to_ids, blobs_to_logits
from hammingbox.running.store.database import Database
from hammingbox.running.store.records import Run, RunKey, Session

KEY = tuple(field.name for field in fields(RunKey))
NUMBERS = ("number", "label", "correct", "success", "distance", "margin", "forward", "backward", "stage")
BLOBS = ("clean", "adversarial", "clean_logits", "logits")
ANY = -1
"""Target of an untargeted run in the file: SQLite holds two NULLs for different keys."""


class Reader:
    """The reading half of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def snapshot(self) -> AbstractContextManager[None]:
        """Inside it, runs and rows are of one moment, whatever is recorded meanwhile."""
        return self._database.snapshot()

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        return self._runs("")

    def run(self, number: int) -> Run:
        """One run.

        Raises:
            InputError: the store has no such run.
        """
        found = self._runs("WHERE runs.id = ?", number)
        if not found:
            raise InputError(f"expected the number of a run in {self.path}, got {number}. See `hammingbox results`.")
        return found[0]

    def _runs(self, condition: str, *values: int) -> list[Run]:
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT runs.id, {', '.join(KEY)}, name, victim, model, created, refused, "
                "(SELECT count(*) FROM rows WHERE rows.run = runs.id), "
                f"(SELECT total(seconds) FROM sessions WHERE sessions.run = runs.id) FROM runs {condition} ORDER BY id",
                values,
            ).fetchall()
        return [Run(number, _key(rest[: len(KEY)]), *rest[len(KEY) :]) for number, *rest in found]

    def sessions(self, run: int) -> list[Session]:
        """The sittings of a run, oldest first."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT started, updated, rows, seconds, environment FROM sessions WHERE run = ? ORDER BY id", (run,)
            ).fetchall()
        return [
            Session(started, updated, rows, seconds, self._document(environment))
            for started, updated, rows, seconds, environment in found
        ]

    def schema(self, run: Run) -> Schema:
        """What the ids of a run mean."""
        return Schema.from_json(self._document(run.key.schema_sha256))

    def space(self, run: Run) -> dict[str, Any]:
        """S(x) of a run as JSON, see `space_from_json`."""
        return dict(self._document(run.key.space_sha256))

    def _document(self, digest: str) -> Any:
        with self._database.read() as connection:
            found = connection.execute("SELECT json FROM documents WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            raise FileError(f"expected the document {digest[:12]} in {self.path}, got none. The store is damaged.")
        return json.loads(found[0])

    def recorded(self, run: int, numbers: Sequence[int]) -> dict[int, bool]:
        """Which of these rows are recorded, and whether they fell."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT number, success FROM rows WHERE run = ? AND number IN (SELECT value FROM json_each(?))",
                (run, json.dumps(list(numbers))),
            )
            return {number: bool(success) for number, success in found}

    def rows(self, run: int) -> Rows:
        """The records of a run, in the order of their numbers.

        Raises:
            FileError: a record does not fit the run's schema.
        """
        facts = self.run(run)
        schema, target = self.schema(facts), facts.key.target
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT {', '.join((*NUMBERS, *BLOBS))} FROM rows WHERE run = ? ORDER BY number", (run,)
            ).fetchall()
        columns: list[Any] = (
            [list(column) for column in zip(*found, strict=True)] if found else [[]] * len((*NUMBERS, *BLOBS))
        )
        values = dict(zip((*NUMBERS, *BLOBS), columns, strict=True))
        labels, correct = _whole(values["label"]), _whole(values["correct"]).bool()
        try:
            return Rows(
                numbers=_whole(values["number"]),
                labels=labels,
                clean=blobs_to_ids(values["clean"], len(schema.features)),
                adversarial=blobs_to_ids(values["adversarial"], len(schema.features)),
                clean_logits=blobs_to_logits(values["clean_logits"], len(schema.classes)),
                logits=blobs_to_logits(values["logits"], len(schema.classes)),
                correct=correct,
                attacked=attackable(correct, labels, None if target is None else torch.full_like(labels, target)),
                success=_whole(values["success"]).bool(),
                distance=_whole(values["distance"]),
                margin=torch.tensor(values["margin"], dtype=torch.float32),
                forward=_whole(values["forward"]),
                backward=_whole(values["backward"]),
                stage=_whole(values["stage"]),
                proven=torch.zeros_like(correct),
            )
        except ValueError as error:
            raise FileError(f"expected rows of the run's schema in {self.path}, got {error}.") from error


def _key(values: Sequence[Any]) -> RunKey:
    key: dict[str, Any] = dict(zip(KEY, values, strict=True))
    return RunKey(**(key | {"target": None if key["target"] == ANY else key["target"]}))


def _whole(values: Iterable[int]) -> torch.Tensor:
    return torch.tensor(list(values), dtype=torch.int64)
