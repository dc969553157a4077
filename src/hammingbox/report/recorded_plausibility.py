"""How plausible the broken rows of a results folder are, noted beside its store.

It takes the whole data to say it, and a page is built from the folder alone, so whoever has the data writes it down:
`audit`, `compare`, and `report --plausibility`. A note is found by the content of its row, so it never speaks of
another one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.errors import FileError, HammingboxError
from hammingbox.evaluation.plausibility import own_rows_with_rare_pairs, plausibility_of
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.files import damage_as_file_error, exists, read_json, sha256, write_bytes
from hammingbox.report.large_results import LARGE
from hammingbox.report.result_set import row_form
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import Store

NOTE = "plausibility.json"
_FORMAT = 1
_KEY_DIGITS = 24
UNKNOWN = -1
"""Unseen pairs of a row of which nothing was noted."""


@dataclass(frozen=True)
class PlausibilityNotes:
    """What was noted about broken rows.

    Attributes:
        rows: by content: pairs of values that the data never shows, and the share of rows that are more typical (None
            where the class has too few rows).
        rare: by schema: how many of the data's own rows hold a pair that no other row holds.
    """

    rows: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
    rare: Mapping[str, Rate] = field(default_factory=dict)

    def of(
        self, rows: Rows, schema_digest: str
    ) -> tuple[Int64[np.ndarray, "rows"], Float64[np.ndarray, "rows"]] | None:
        """Unseen pairs (`UNKNOWN` for rows that are not noted) and anomalies of rows; None if there is no note."""
        if schema_digest not in self.rare:
            return None
        pairs, anomaly = np.full(len(rows), UNKNOWN), np.full(len(rows), nan)
        for row, key in zip(np.flatnonzero(rows.success.numpy()), _keys(rows, schema_digest), strict=True):
            if key in self.rows:
                pairs[row], found = self.rows[key]
                anomaly[row] = nan if found is None else found
        return pairs, anomaly


def read_notes(folder: Path) -> PlausibilityNotes:
    """What a results folder says; nothing where nobody noted anything.

    Raises:
        FileError: it is damaged.
    """
    path = (folder.parent if folder.is_file() else folder) / NOTE
    if not exists(path):
        return PlausibilityNotes()
    value = read_json(path)
    with damage_as_file_error(path, "notes about plausibility; delete them, or run `hammingbox report --plausibility`"):
        if value["format"] != _FORMAT:
            raise FileError(f"expected notes of format {_FORMAT} in {path}, got {value['format']!r:.40}. Delete them.")
        rows = {str(key): (int(pairs), _share(anomaly)) for key, (pairs, anomaly) in value["rows"].items()}
        rare = {str(schema): Rate(int(hits), int(count)) for schema, (hits, count) in value["data"].items()}
        return PlausibilityNotes(rows, rare)


def note_plausibility(store: Store, folder: Path, data: Dataset) -> PlausibilityNotes:
    """Notes how plausible all broken rows are that belong to a table, and returns all notes of the folder.

    Nothing is noted where the table's runs have more rows than a report holds (`LARGE`): notes are held in memory.

    Args:
        store: of the folder.
        folder: for the notes.
        data: the whole table.

    Raises:
        FileError: the notes cannot be written, or the store is damaged.
    """
    digest = data.schema.digest
    runs = [run for run in store.runs() if run.key.schema_sha256 == digest and run.rows]
    if row_form(data.schema) != "columns" or sum(run.rows for run in runs) > LARGE:
        return read_notes(folder)
    try:
        known = read_notes(folder)
    except FileError:  # damaged: all rows are looked at again
        known = PlausibilityNotes()
    clean, written, predicted, keys = [], [], [], []
    seen = set(known.rows)
    for run in runs:
        rows = store.rows(run.id)
        rows = rows.take(rows.success)
        for place, key in enumerate(_keys(rows, digest)):
            if key not in seen:
                seen.add(key)
                keys.append(key)
                clean.append(rows.clean[place])
                written.append(rows.adversarial[place])
                predicted.append(rows.logits[place].argmax())
    if not keys and digest in known.rare:
        return known
    fresh: dict[str, tuple[int, float | None]] = {}
    if keys:
        found = plausibility_of(data, *(torch.stack(part) for part in (clean, written, predicted)))
        values = zip(keys, found.unseen_pairs.tolist(), found.anomaly.tolist(), strict=True)
        fresh = {key: (pairs, None if isnan(anomaly) else round(anomaly, 4)) for key, pairs, anomaly in values}
    rare = known.rare.get(digest) or own_rows_with_rare_pairs(data)
    notes = PlausibilityNotes({**known.rows, **fresh}, {**known.rare, digest: rare})
    write_bytes(folder / NOTE, (json.dumps(_to_json(notes)) + "\n").encode())
    return notes


def note_all(store: Store, folder: Path, data_dir: Path | None = None) -> list[str]:
    """Notes how plausible the broken rows of all runs are, from the data that each run names.

    Returns:
        One sentence for each data set that cannot be read.

    Raises:
        FileError: the notes cannot be written, or the store is damaged.
    """
    lost: dict[str, None] = {}
    done: set[str] = set()
    for run in store.runs():
        if not run.rows or run.key.schema_sha256 in done:
            continue
        done.add(run.key.schema_sha256)
        try:
            reference = DataReference.from_text(run.key.data, run.source)
            splits = reference.load(data_dir, schema_digest=run.key.schema_sha256)
            data = splits.whole().in_schema(store.schema(run))
        except HammingboxError as error:
            lost[f"{run.key.data}: {error}"] = None
            continue
        note_plausibility(store, folder, data)
    return list(lost)


def _share(value: Any) -> float | None:
    """A share between 0 and 1, or None.

    Raises:
        ValueError: another number.
    """
    if value is None:
        return None
    if not 0 <= float(value) <= 1:
        raise ValueError(f"an anomaly of {value!r:.40}")
    return float(value)


def _keys(rows: Rows, schema_digest: str) -> list[str]:
    """What identifies each broken row: its content before and after, what it is taken for, and the schema."""
    broken: Tensor = rows.success.nonzero()[:, 0]
    parts = (rows.clean[broken], rows.adversarial[broken], rows.logits[broken].argmax(1)[:, None])
    table = torch.cat([part.long() for part in parts], 1).numpy().astype("<i4")
    return [sha256(schema_digest.encode(), row.tobytes())[:_KEY_DIGITS] for row in table]


def _to_json(notes: PlausibilityNotes) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "data": {schema: [rate.hits, rate.rows] for schema, rate in notes.rare.items()},
        "rows": {key: list(value) for key, value in notes.rows.items()},
    }
