"""A store's content for other programs: one record per run, row or class, as CSV, Excel, Parquet and others."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, unknown_name
from hammingbox.evaluation.class_rates import ClassRates
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.report.artefacts.figures import figure_bytes, success_figure
from hammingbox.report.artefacts.spreadsheet import workbook
from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.report.labels import attack_labels, goal_in_words, space_in_words, with_digests
from hammingbox.report.recorded_plausibility import PlausibilityNotes, read_notes
from hammingbox.report.result_set import row_form
from hammingbox.report.status import STATUSES, status_codes
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import Run, Store

What = Literal["runs", "rows", "classes"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a text begins with that a spreadsheet may take for a formula."""
BINARY = ("parquet", "pdf", "xlsx")
"""Formats that are no text."""


def run_facts(run: Run) -> dict[str, Any]:
    """What every record says about its run: which model was attacked on which data, and how."""
    return {
        "run": run.id, "data": run.key.data, "split": run.key.split, "model": run.model, "defence": run.key.defence,
        "victim": run.victim, "attack": run.name, "budget": run.key.budget, "seed": run.key.seed,
    }  # fmt: skip


def run_record(store: Store, run: Run) -> dict[str, Any]:
    """One flat record: what was run, its rates with their intervals, and its cost."""
    totals = store.known_totals(run.id)
    summary = totals.summary()
    success, robust = (summary.pop(f"{name}_interval") or (None, None) for name in ("success", "robust_error"))
    classes = classes_of(store, run, totals)
    worst = classes.worst
    return {
        **run_facts(run),
        "goal": goal_in_words(store.goal(run)),
        "space": space_in_words(store.space(run)),
        "clean_error": 1 - totals["correct"] / totals["rows"] if totals["rows"] else None,
        **summary,
        "success_low": success[0], "success_high": success[1], "robust_low": robust[0], "robust_high": robust[1],
        "balanced_accuracy": classes.balanced_accuracy,
        "balanced_robust_accuracy": classes.balanced_robust_accuracy,
        "majority_baseline": None if classes.majority is None else classes.majority[1],
        "worst_class": "" if worst is None else worst.name,
        "worst_class_robust_error": None if worst is None else worst.robust_error.known,
        "population_success_rate": None if classes.weighted_success is None else classes.weighted_success.value,
        "population_robust_error": (
            None if classes.weighted_robust_error is None else classes.weighted_robust_error.value
        ),
        "seconds": run.seconds, "created": run.created, "refused": run.refused or "",
        "settings": run.key.attack, "victim_sha256": run.key.victim_sha256, "space_sha256": run.key.space_sha256,
    }  # fmt: skip


def classes_of(store: Store, run: Run, totals: RunTotals) -> ClassRates:
    """The rates of each class in a run, with the sizes of the classes where they were noted."""
    sample = DataReference.from_text(run.key.data, run.source).sample if run.source else None
    classes = store.schema(run).classes
    fits = sample is not None and len(sample.population) == len(classes)
    population = sample.population if sample is not None and fits else None
    positive = sample.positive if sample is not None and sample.positive in classes else None
    return totals.classes(classes, population=population, positive=positive)


def class_records(store: Store, run: Run) -> Iterator[dict[str, Any]]:
    """One flat record per class of a run."""
    facts = run_facts(run)
    for line in classes_of(store, run, store.totals_with_directions(run)).lines:
        record = line.to_json()
        becomes = record.pop("becomes")
        ends = {name: record.pop(f"{name}_interval") or (None, None) for name in ("success", "robust_error")}
        spans = {f"{name}_{end}": pair[i] for name, pair in ends.items() for i, end in enumerate(("low", "high"))}
        yield facts | record | spans | {"becomes": json.dumps(becomes, ensure_ascii=False)}


def spread_row(record: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A record of a table's row with one column per feature before and one after, and the changes in words."""
    facts = {name: value for name, value in record.items() if name not in ("clean", "adversarial")}
    pairs = list(zip(names, record["clean"], record["adversarial"], strict=True))
    changed = "; ".join(f"{name}: {old} -> {new}" for name, old, new in pairs if old != new)
    before, after = (
        {f"{name} ({when})": pair[i] for name, *pair in pairs} for i, when in enumerate(("before", "after"))
    )
    return facts | {"changes": changed} | before | after


def row_records(
    run: Run, schema: Schema, rows: Rows, notes: PlausibilityNotes | None = None
) -> Iterator[dict[str, Any]]:
    """One record per row, with its status and its categories before and after as lists.

    Args:
        run: what they belong to.
        schema: what ids mean.
        rows: the rows.
        notes: how plausible broken rows are, if that was noted.
    """
    facts = run_facts(run)
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
        **plausibility_columns(rows, schema, notes),
        "clean": [list(schema.decode(ids)) for ids in rows.clean.tolist()],
        "adversarial": [list(schema.decode(ids)) for ids in rows.adversarial.tolist()],
    }
    for values in zip(*columns.values(), strict=True):
        yield facts | dict(zip(columns, values, strict=True))


def plausibility_columns(rows: Rows, schema: Schema, notes: PlausibilityNotes | None) -> dict[str, list[Any]]:
    """Unseen pairs and anomaly of each row; None where a row is not broken, and no columns where nothing was noted."""
    found = None if notes is None else notes.of(rows, schema.digest)
    if found is None:
        return {}
    pairs, anomaly = (part.tolist() for part in found)
    return {
        "unseen_pairs": [count if count >= 0 else None for count in pairs],
        "anomaly": [None if share != share else share for share in anomaly],
    }


def records(store: Store, what: What, *, model: str | None = None) -> list[dict[str, Any]]:
    """All records of a store, or those of one model.

    Raises:
        InputError: no run is of this model.
    """
    runs = runs_of(store, model)
    if what == "runs":
        return [run_record(store, run) for run in runs]
    if what == "classes":
        return [record for run in runs if run.rows for record in class_records(store, run)]
    return [record for run in runs for part in row_parts(store, run) for record in part]


def runs_of(store: Store, model: str | None = None) -> list[Run]:
    """All runs of a store, or those of one model.

    Raises:
        InputError: no run is of this model.
    """
    runs = store.runs()
    if model is not None:
        places = list(dict.fromkeys(run.victim for run in runs))
        mine = {
            place for place in places if place and (place == model or Path(place).resolve() == Path(model).resolve())
        }
        if not mine:
            raise unknown_name("model of this folder", model, places)
        runs = [run for run in runs if run.victim in mine]
    return runs


def row_parts(store: Store, run: Run, *, most: int | None = None) -> Iterator[list[dict[str, Any]]]:
    """The rows of a run, a few at a time: tables with a column per feature, sequences, which may be long, as lists.

    Args:
        store: that holds the run.
        run: which.
        most: no more rows than this, in one part; all of them by default.
    """
    schema = store.schema(run)
    notes = PlausibilityNotes() if store.path is None else read_notes(store.path)
    names = [feature.name for feature in schema.features] if row_form(schema) == "columns" else None
    for rows in store.blocks(run.id) if most is None else [store.rows(run.id, most=most)]:
        found = row_records(run, schema, rows, notes)
        yield list(found) if names is None else [spread_row(record, names) for record in found]


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
        rates = (_percent(record["success_rate"]), _percent(record["robust_error"])) if ran else (None, None)
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
        _percent(record["success_rate"]),
        None if record["success_low"] is None else Interval(100 * record["success_low"], 100 * record["success_high"]),
        _percent(record["robust_error"]),
        *((record["proven"],) if proofs else ()),
        (record["forward"] + record["backward"]) / attacked,
        record["seconds"] / attacked,
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _columns_of(found: list[dict[str, Any]]) -> list[str]:
    """All columns of the records, in the order they occur: a store may hold tables with other features."""
    return list(dict.fromkeys(name for record in found for name in record))


def csv_lines(lines: Iterable[Iterable[Any]]) -> bytes:
    """Lines of a CSV file."""
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    # Some versions of Python do not quote a carriage return, and a reader would then see the end of a line.
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    for line in lines:
        cells = [_cell(value) for value in line]
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoting if has_return else plain).writerow(cells)
    return text.getvalue().encode()


def _to_csv(found: list[dict[str, Any]]) -> bytes:
    names = _columns_of(found)
    return csv_lines([names, *([record.get(name) for name in names] for record in found)])


def _cell(value: Any) -> Any:
    """A value as a cell of a CSV file: lists as JSON, and a text that a spreadsheet would run as a formula quoted.

    Class names, paths and categories come from data. An apostrophe before the text makes it a text for every
    spreadsheet; numbers stay numbers.
    """
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _to_xlsx(found: list[dict[str, Any]]) -> bytes:
    names = _columns_of(found)
    texts = ([_flat(record.get(name)) for name in names] for record in found)
    return workbook(names, texts)


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


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
        raise InputError(
            "expected csv or parquet for rows and classes, or xlsx, got a format for tables. Export the runs instead."
        )
    return runs_table(found, "Results")


def _figure(kind: str) -> Callable[[list[dict[str, Any]]], bytes]:
    def write(found: list[dict[str, Any]]) -> bytes:
        _table(found)
        return figure_bytes(success_figure(found), kind)

    return write


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "csv": _to_csv,
    "xlsx": _to_xlsx,
    "parquet": _to_parquet,
    "markdown": lambda found: _table(found).markdown().encode(),
    "latex": lambda found: _table(found).latex("tab:results").encode(),
    "svg": _figure("svg"),
    "pdf": _figure("pdf"),
}
