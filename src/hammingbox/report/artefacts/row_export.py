"""The rows of a store for other programs, written a few at a time: a store may hold millions."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, BinaryIO
from urllib.parse import quote

import numpy as np
from jaxtyping import Int64

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.evaluation.rows import Rows
from hammingbox.report.artefacts.export import csv_lines, plausibility_columns, row_parts, run_facts
from hammingbox.report.recorded_plausibility import PlausibilityNotes, read_notes
from hammingbox.report.result_set import row_form
from hammingbox.report.status import STATUSES, status_codes
from hammingbox.running.store import Run, Store

ArrowTable = Any
"""A table of pyarrow, which the core install lacks."""

_FILE_ROWS = 2**20
"""Rows of one file of a partitioned table at most."""
_PARTITIONS = ("attack", "budget", "run")
"""What the folders of a partitioned table are named after, from the outside in."""


def write_rows_csv(store: Store, runs: Sequence[Run], sink: BinaryIO) -> int:
    """Writes the rows of runs as CSV, with the columns of all runs.

    Returns:
        How many rows were written.
    """
    firsts = [part[0] for run in runs for part in row_parts(store, run, most=1) if part]
    names, written = list(dict.fromkeys(name for record in firsts for name in record)), 0
    sink.write(csv_lines([names]))
    for run in runs:
        for part in row_parts(store, run):
            sink.write(csv_lines([record.get(name) for name in names] for record in part))
            written += len(part)
    return written


def write_rows_parquet(store: Store, runs: Sequence[Run], sink: BinaryIO) -> int:
    """Writes the rows of runs as one Parquet file, with the columns of all runs.

    Returns:
        How many rows were written.

    Raises:
        InputError: pyarrow is not installed.
    """
    pyarrow, parquet = _libraries()
    notes, there = _notes(store), [run for run in runs if run.rows]
    kinds = [row_table(store.schema(run), run, store.rows(run.id, most=1), notes).schema for run in there]
    whole, written = pyarrow.unify_schemas(kinds), 0
    with parquet.ParquetWriter(sink, whole) as writer:
        for table in _tables(store, runs):
            lacking = [name for name in whole.names if name not in table.column_names]
            for name in lacking:  # a feature of other runs only
                table = table.append_column(name, pyarrow.nulls(len(table), whole.field(name).type))
            writer.write_table(table.select(whole.names))
            written += len(table)
    return written


def write_partitions(store: Store, runs: Sequence[Run], folder: Path) -> int:
    """Writes the rows of runs as a folder of Parquet files, as other engines read it (Hive partitioning).

    For example, ``attack=gga/budget=1/run=3/part-00000.parquet``.

    Args:
        store: that holds the runs.
        runs: which.
        folder: a new one; it appears when everything is written.

    Returns:
        How many rows were written.

    Raises:
        InputError: pyarrow is not installed, or the folder has files.
        FileError: it cannot be written.
    """
    _, parquet = _libraries()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"expected a new folder for the parts, got {folder}, which exists. Choose another name.")
    written = 0
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            for run in runs:
                written += _write_partition(store, run, temporary, parquet)
            temporary.chmod(0o777 & ~_umask())
            os.replace(temporary, folder)  # noqa: PTH105 - replaces an empty folder, too
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise FileError(
            f"expected to write {folder}, got: {error.strerror or error}. Choose another place, or free some space."
        ) from error
    return written


def _write_partition(store: Store, run: Run, folder: Path, parquet: Any) -> int:
    values = {"attack": run.name, "budget": run.key.budget, "run": run.id}
    place = folder.joinpath(*(f"{name}={quote(str(values[name]), safe='')}" for name in _PARTITIONS))
    written, number = 0, 0
    with ExitStack() as stack:
        writer, rows = None, 0
        for table in _tables(store, [run]):
            part = table.drop_columns(list(_PARTITIONS))
            if writer is None or rows + len(part) > _FILE_ROWS:
                stack.close()
                place.mkdir(parents=True, exist_ok=True)
                path = place / f"part-{number:05}.parquet"
                writer = stack.enter_context(parquet.ParquetWriter(path, part.schema))
                number, rows = number + 1, 0
            writer.write_table(part)
            rows += len(part)
            written += len(part)
    return written


def _tables(store: Store, runs: Sequence[Run]) -> Iterator[ArrowTable]:
    notes = _notes(store)
    for run in runs:
        schema = store.schema(run)
        for rows in store.blocks(run.id):
            yield row_table(schema, run, rows, notes)


def _notes(store: Store) -> PlausibilityNotes:
    return PlausibilityNotes() if store.path is None else read_notes(store.path)


def row_table(schema: Schema, run: Run, rows: Rows, notes: PlausibilityNotes) -> ArrowTable:
    """Rows as a table of pyarrow: the columns of `spread_row`, or lists of categories for sequences.

    Columns are made as a whole, which is many times faster than one record per row.
    """
    pyarrow, _ = _libraries()

    def constant(value: Any) -> Any:
        return pyarrow.array([value]).take(pyarrow.array(np.zeros(len(rows), np.int32)))

    def words(ids: Int64[np.ndarray, "_"], names: Sequence[str]) -> Any:
        coded = pyarrow.DictionaryArray.from_arrays(pyarrow.array(ids.astype(np.int32)), pyarrow.array(list(names)))
        return coded.dictionary_decode()

    codes = status_codes(
        correct=rows.correct.numpy(),
        attacked=rows.attacked.numpy(),
        broken=rows.success.numpy(),
        proven=rows.proven.numpy(),
    )
    clean, written = rows.clean.numpy(), rows.adversarial.numpy()
    columns = {
        **{name: constant(value) for name, value in run_facts(run).items()},
        "row": rows.numbers.numpy(), "label": words(rows.labels.numpy(), schema.classes),
        "status": words(codes, STATUSES), "correct": rows.correct.numpy(), "success": rows.success.numpy(),
        "prediction": words(rows.logits.argmax(1).numpy(), schema.classes), "distance": rows.distance.numpy(),
        "margin": rows.margin.double().numpy(), "forward": rows.forward.numpy(), "backward": rows.backward.numpy(),
        "stage": rows.stage.numpy(),
    }  # fmt: skip
    kinds = {"unseen_pairs": pyarrow.int64(), "anomaly": pyarrow.float64()}
    noted = plausibility_columns(rows, schema, notes)
    columns |= {name: pyarrow.array(values, kinds[name]) for name, values in noted.items()}
    features = schema.features
    if row_form(schema) == "columns":
        columns["changes"] = pyarrow.array(_changes(schema, clean, written), pyarrow.string())
        for when, ids in (("before", clean), ("after", written)):
            for index, feature in enumerate(features):
                columns[f"{feature.name} ({when})"] = words(ids[:, index], feature.categories)
    else:
        ends = np.arange(0, clean.size + 1, len(features), dtype=np.int32)
        for name, ids in (("clean", clean), ("adversarial", written)):
            columns[name] = pyarrow.ListArray.from_arrays(ends, words(ids.ravel(), features[0].categories))
    return pyarrow.table(columns)


def _changes(
    schema: Schema, clean: Int64[np.ndarray, "rows features"], written: Int64[np.ndarray, "rows features"]
) -> list[str]:
    """What changed in each row, in words."""
    found: list[list[str]] = [[] for _ in clean]
    rows, features = np.nonzero(clean != written)
    before, after = clean[rows, features].tolist(), written[rows, features].tolist()
    for row, index, old, new in zip(rows.tolist(), features.tolist(), before, after, strict=True):
        feature = schema.features[index]
        found[row].append(f"{feature.name}: {feature.categories[old]} -> {feature.categories[new]}")
    return ["; ".join(changes) for changes in found]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_library("pyarrow", "parquet", "to write Parquet", error) from error
    return pyarrow, pyarrow.parquet
