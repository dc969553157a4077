"""Checks of what a store's file gives back: types, ranges and shapes, so that damage is named when it is read.

Whether records are true is another question, which `verify` answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError
from hammingbox.evaluation.rows import Rows
from hammingbox.running.store.records import Run, RunKey, Session

_MOST_PASSES = 2**53
"""Passes of a row, so that sums of them stay exact."""


def check_values(columns: Mapping[str, Sequence[Any]], blobs: Iterable[str], source: object) -> None:
    """Checks the types of a run's records: SQLite keeps a text where a number is due.

    Raises:
        FileError: a value is not of its column's type.
    """
    kinds: dict[str, set[type]] = {"margin": {float, int}, **{name: {bytes} for name in blobs}}
    for name, values in columns.items():
        wrong = set(map(type, values)) - kinds.get(name, {int})  # as a set: there may be millions of values
        if wrong:
            value = next(value for value in values if type(value) in wrong)
            raise _damaged(source, f"{value!r:.60} as the {name} of a row")


def check_rows(rows: Rows, schema: Schema, source: object) -> None:
    """Checks that records fit their schema.

    Raises:
        FileError: an id, a label, a number of changes or of passes is out of range, or an answer is not finite.
    """
    try:
        schema.check_labels(rows.labels, len(rows))
        schema.check_ids(rows.clean)
        schema.check_ids(rows.adversarial)
    except ValueError as error:
        raise _damaged(source, str(error).rstrip(".")) from error
    limits = {"numbers": 2**62, "distance": len(schema.features), "stage": 2**31}
    for name in ("numbers", "distance", "stage", "forward", "backward"):
        values = getattr(rows, name)
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) <= limits.get(name, _MOST_PASSES):
            raise _damaged(source, f"{name} of rows out of range")
    for name in ("clean_logits", "logits", "margin"):
        if not bool(getattr(rows, name).isfinite().all()):
            raise _damaged(source, f"{name} of rows that are not finite")


def checked_run(number: Any, values: Sequence[Any], source: object) -> Run:
    """A run of the values that a file holds for it: those of its key, then the rest in the order of `Run`.

    Raises:
        FileError: a value is not of its type, or a number is negative.
    """
    size = len(fields(RunKey))
    key, rest = values[:size], values[size:]
    kinds = [field.type for field in fields(RunKey)]
    fits = all(isinstance(value, kind) for value, kind in zip(key, kinds, strict=True) if isinstance(kind, type))
    name, victim, model, created, refused, rows, seconds, data_sha256, place = rest
    fits = fits and all(
        isinstance(text, str) for text in (name, victim, model, created, refused or "", data_sha256, place)
    )
    if not fits or not isinstance(number, int):
        raise _damaged(source, f"another type in the values of run {number!r:.20}")
    run = Run(number, RunKey(*key), name, victim, model, created, refused, rows, seconds, data_sha256, place)
    if min(run.key.budget, run.key.seed) < 0 or not _is_time(seconds):
        raise _damaged(source, f"a number out of range in the values of run {number}")
    return run


def checked_session(values: Sequence[Any], environment: Any, source: object) -> Session:
    """A session of the values that a file holds for it: start, last batch, rows and seconds.

    Raises:
        FileError: a value is not of its type.
    """
    started, updated, rows, seconds = values
    fits = isinstance(started, str) and isinstance(updated, str) and isinstance(rows, int) and _is_time(seconds)
    if not fits or not isinstance(environment, dict):
        raise _damaged(source, "another type in the values of a session")
    return Session(started, updated, rows, float(seconds), environment)


def _is_time(seconds: Any) -> bool:
    return isinstance(seconds, int | float) and isfinite(seconds) and seconds >= 0


def _damaged(source: object, found: str) -> FileError:
    return FileError(f"expected whole records in {source}, got {found}. The store is damaged.")
