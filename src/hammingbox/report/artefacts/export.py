"""A store's content for other programs: one record per run or per row, as CSV, Parquet, Markdown, LaTeX, SVG or PDF."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.evaluation.rows import Rows
from hammingbox.report.artefacts.figures import figure_bytes, success_figure
from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.report.labels import attack_labels, goal_in_words, space_in_words, with_digests
from hammingbox.report.status import STATUSES, status_codes
from hammingbox.running.store import Run, Store

What = Literal["runs", "rows"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a text begins with that a spreadsheet may take for a formula."""
BINARY = ("parquet", "pdf")
"""Formats that are no text."""


def run_record(store: Store, run: Run) -> dict[str, Any]:
    """One flat record: what was run, its rates with their intervals, and its cost."""
    rows = store.rows(run.id)
    summary = rows.summary()
    success, robust = summary.pop("success_interval"), summary.pop("robust_error_interval")
    return {
        "run": run.id, "data": run.key.data, "split": run.key.split, "model": run.model, "defence": run.key.defence,
        "victim": run.victim, "attack": run.name, "budget": run.key.budget, "seed": run.key.seed,
        "goal": goal_in_words(store.goal(run)),
        "space": space_in_words(store.space(run)),
        "clean_error": 1 - rows.accuracy.value if len(rows) else None,
        **summary,
        "success_low": success[0], "success_high": success[1], "robust_low": robust[0], "robust_high": robust[1],
        "seconds": run.seconds, "created": run.created, "refused": run.refused or "",
        "settings": run.key.attack, "victim_sha256": run.key.victim_sha256, "space_sha256": run.key.space_sha256,
    }  # fmt: skip


def row_records(run: Run, schema: Schema, rows: Rows) -> Iterator[dict[str, Any]]:
    """One record per row, with its status and its categories before and after as lists."""
    facts = {
        "run": run.id, "data": run.key.data, "defence": run.key.defence, "attack": run.name,
        "budget": run.key.budget, "seed": run.key.seed,
    }  # fmt: skip
    codes = status_codes(
        correct=rows.correct.numpy(),
        attacked=rows.attacked.numpy(),
        broken=rows.success.numpy(),
        proven=rows.proven.numpy(),
    )
    columns: dict[str, list[Any]] = {
        "row": rows.numbers.tolist(),
        "label": [schema.classes[label] for label in rows.labels.tolist()],
        "status": [STATUSES[code] for code in codes.tolist()],
        "correct": rows.correct.tolist(),
        "success": rows.success.tolist(),
        "prediction": [schema.classes[label] for label in rows.logits.argmax(1).tolist()],
        "distance": rows.distance.tolist(),
        "margin": rows.margin.tolist(),
        "forward": rows.forward.tolist(),
        "backward": rows.backward.tolist(),
        "stage": rows.stage.tolist(),
        "clean": [list(schema.decode(ids)) for ids in rows.clean.tolist()],
        "adversarial": [list(schema.decode(ids)) for ids in rows.adversarial.tolist()],
    }
    for values in zip(*columns.values(), strict=True):
        yield facts | dict(zip(columns, values, strict=True))


def records(store: Store, what: What) -> list[dict[str, Any]]:
    """All records of a store."""
    if what == "runs":
        return [run_record(store, run) for run in store.runs()]
    return [record for run in store.runs() for record in row_records(run, store.schema(run), store.rows(run.id))]


def runs_table(found: list[dict[str, Any]], title: str) -> Table:
    """Runs as a table for people: what all runs share, such as S(x), has no column; proofs only where there are any."""
    words = {
        "data": [r["data"] for r in found],
        "split": [r["split"] for r in found],
        "model": [r["model"] for r in found],
        "defence": [r["defence"] for r in found],
        "victim": with_digests([Path(r["victim"]).name for r in found], [r["victim_sha256"] for r in found]),
        "allowed changes": with_digests([r["space"] for r in found], [r["space_sha256"] for r in found]),
        "attack": attack_labels([(r["attack"], r["settings"], r["goal"]) for r in found]),
    }
    for name in ("split", "victim", "allowed changes"):
        if len(set(words[name])) == 1:
            del words[name]
    proofs = any(record["proven"] for record in found)
    columns = (
        Column.number("run"), *map(Column.text, words), Column.number("ε"), Column.number("seed"),
        Column.number("rows"), Column.number("clean error %", ".1f"), Column.number("success %", ".1f"),
        Column.interval("95 % interval", ".1f"), Column.number("robust error %", ".1f"),
        *([Column.number("proven")] if proofs else []),
        Column.number("passes per row", ".0f"), Column.number("seconds per row", ".3g"),
    )  # fmt: skip
    rows = (
        (record["run"], *texts, *_run_cells(record, proofs=proofs))
        for *texts, record in zip(*words.values(), found, strict=True)
    )
    return Table(title, columns, tuple(rows))


def short_table(found: list[dict[str, Any]]) -> Table:
    """Runs as a table of at most 80 characters in most cases, for a terminal."""
    proofs = any(record["proven"] for record in found)
    names = ("data", "model", "defence", "attack")
    columns = (
        Column.number("run"), *map(Column.text, names), Column.number("budget"), Column.number("seed"),
        Column.number("rows"), Column.number("success %", ".1f"), Column.number("error %", ".1f"),
        *([Column.number("proven")] if proofs else []),
    )  # fmt: skip
    rows = []
    for record in found:
        ran = record["rows"] > 0
        rates = (100 * record["success_rate"], 100 * record["robust_error"]) if ran else (None, None)
        proven = [record["proven"] if ran else None] if proofs else []
        facts = (record["run"], record["data"], record["model"], record["defence"].partition("(")[0], record["attack"])
        numbers = (record["budget"], record["seed"], record["rows"])
        rows.append((*facts, *numbers, *rates, *proven))
    refused = [str(record["run"]) for record in found if record["refused"]]
    notes = (f"refused to run: {', '.join(refused)}",) if refused else ()
    return Table(f"{len(found):,} runs", columns, tuple(rows), notes)


def _run_cells(record: dict[str, Any], *, proofs: bool) -> tuple[Value, ...]:
    facts = (record["budget"], record["seed"], record["rows"])
    if not record["rows"]:
        return (*facts, *(None,) * (7 if proofs else 6))
    attacked = max(record["attacked"], 1)
    return (
        *facts,
        100 * record["clean_error"],
        100 * record["success_rate"],
        Interval(100 * record["success_low"], 100 * record["success_high"]),
        100 * record["robust_error"],
        *((record["proven"],) if proofs else ()),
        (record["forward"] + record["backward"]) / attacked,
        record["seconds"] / attacked,
    )


def _to_csv(found: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    # Some versions of Python do not quote a carriage return, and a reader would then see the end of a line.
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    plain.writerow(found[0])
    for record in found:
        cells = [_cell(value) for value in record.values()]
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoting if has_return else plain).writerow(cells)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """A value as a cell of a CSV file: lists as JSON, and a text that a spreadsheet would run as a formula quoted.

    Class names, paths and categories come from data. An apostrophe before the text makes it a text for every
    spreadsheet; numbers stay numbers.
    """
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _to_parquet(found: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(
            "expected pyarrow for Parquet, got none. Install it with `pip install 'hammingbox[parquet]'`."
        ) from error
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(found), sink)
    return bytes(sink.getvalue().to_pybytes())


def _table(found: list[dict[str, Any]]) -> Table:
    """Runs as a table.

    Raises:
        InputError: these are rows, and only runs fit a table or a figure.
    """
    if "settings" not in found[0]:
        raise InputError("expected csv or parquet for rows, got a format for tables. Export the runs instead.")
    return runs_table(found, "Results")


def _figure(kind: str) -> Callable[[list[dict[str, Any]]], bytes]:
    def write(found: list[dict[str, Any]]) -> bytes:
        _table(found)
        return figure_bytes(success_figure(found), kind)

    return write


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "csv": _to_csv,
    "parquet": _to_parquet,
    "markdown": lambda found: _table(found).markdown().encode(),
    "latex": lambda found: _table(found).latex("tab:results").encode(),
    "svg": _figure("svg"),
    "pdf": _figure("pdf"),
}
