"""`hammingbox verify`: recomputes what a result file or a store claims, from the data and the victims."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.cli.completion import a_shipped_victim
from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.options import (
    DataDir,
    Device,
    Functions,
    Json,
    Label,
    ModelName,
    ModelSpec,
    SchemaFile,
    device_from,
)
from hammingbox.data.dataset import Dataset
from hammingbox.errors import HammingboxError, InputError
from hammingbox.evaluation.result_files import StoredResults, read_results, verify_stored
from hammingbox.evaluation.verify import Verification
from hammingbox.report.measured_what_if import FOLDER as WHAT_IF
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import FILE
from hammingbox.running.verify_store import VerifiedRun, VerifiedStore, checked_victim, verify_store
from hammingbox.threat.rules.function import functions_named

_SHOWN = 20
"""Problems of a run that are printed; all of them are in the JSON."""

_COLOURS = {"verified": "green", "rejected": "red", "could not compare": "yellow"}


def verify_file(
    file: Annotated[Path, typer.Argument(help="A results folder, its results.sqlite, or a result file (.json).")],
    victim: Annotated[
        Path | None,
        typer.Option(
            help="The victim: its checkpoint, if that has moved, or the name of a shipped one.",
            autocompletion=a_shipped_victim,
        ),
    ] = None,
    model: ModelSpec = None,
    model_name: ModelName = "",
    run: Annotated[int | None, typer.Option(help="One run of a store; all of them without it.")] = None,
    data: Annotated[str | None, typer.Option(help="Your own data file, if it has moved.")] = None,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    function: Functions = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Recomputes every claim from the data and the victim; 0 only if all of it is verified, otherwise 1."""
    where = device_from(device)
    if victim is not None and model is not None:
        raise InputError("expected --victim or --model, got both. They name the same thing.")
    place = str(victim) if victim is not None else model
    if file.is_dir() or file.suffix == ".sqlite":
        options: dict[str, Any] = {
            "victim": place, "name": model_name, "data": data, "label": label, "schema": schema_file,
            "data_dir": data_dir, "device": where, "functions": functions_named(function or ()),
        }  # fmt: skip
        found = verify_store(file, run=run, **options)
        frozen = (file if file.is_dir() else file.parent) / WHAT_IF
        if run is None and frozen != file and (frozen / FILE).is_file():
            again = verify_store(frozen, **options)
            renamed = (replace(part, name=f"{WHAT_IF}: {part.name}") for part in again.runs)
            found = VerifiedStore((*found.runs, *renamed))
    else:
        stored = read_results(file)
        missing: list[str] = []
        attacked, rows = None, None
        try:
            attacked = checked_victim(
                place or str(stored.header["victim"]), stored.schema, where, named_by_user=place is not None,
                name=model_name,
            )  # fmt: skip
        except HammingboxError as error:
            missing.append(f"the victim: {error}")
        try:
            rows = _rows_of(stored, data, label, schema_file, data_dir)
        except HammingboxError as error:
            missing.append(f"the data: {error}")
        checked = verify_stored(stored, attacked, data=rows)
        checked = Verification(
            checked.rows, checked.claimed, checked.confirmed, checked.ties, checked.problems, tuple(missing),
            checked.notes,
        )  # fmt: skip
        found = VerifiedStore((VerifiedRun(1, file.name, checked),))
    if json:
        print_json(_as_json(file, found))
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(1)


def _rows_of(
    stored: StoredResults, data: str | None, label: str | None, schema: Path | None, data_dir: Path | None
) -> Dataset:
    name = data or stored.header["data"]
    splits = DataReference.of(name, label=label, schema=schema).load(data_dir, schema_digest=stored.schema.digest)
    # A result file does not name its part. Where parts share numbers, its rows are looked for among the test rows.
    return splits.numbered("test")


def _as_json(file: Path, found: VerifiedStore) -> dict[str, Any]:
    return {
        "file": str(file), "ok": found.ok, "rows": found.rows, "claimed": found.claimed,
        "confirmed": found.confirmed, "ties": found.ties, "problems": list(found.problems),
        "runs": [
            {
                "run": part.run, "name": part.name, "verdict": part.found.verdict, "rows": part.found.rows,
                "claimed": part.found.claimed, "confirmed": part.found.confirmed, "ties": part.found.ties,
                "problems": list(part.found.problems), "missing": list(part.found.missing),
                "notes": list(part.found.notes),
            }
            for part in found.runs
        ],
    }  # fmt: skip


def _show(found: VerifiedStore) -> None:
    """One line per run that is not verified or has a note, then the sum."""
    for part in found.runs:
        reasons = [*part.found.problems, *part.found.missing, *part.found.notes]
        if not reasons:
            continue
        verdict = part.found.verdict
        say(f"[{_COLOURS[verdict]}]{verdict}[/]: {plain(part.name)}")
        for reason in reasons[:_SHOWN]:
            say(f"  {plain(reason)}")
        if len(reasons) > _SHOWN:
            say(f"  and {len(reasons) - _SHOWN} more, see --json")
    counts = {verdict: sum(part.found.verdict == verdict for part in found.runs) for verdict in _COLOURS}
    overall = "verified" if found.ok else "rejected" if counts["rejected"] else "could not compare"
    runs = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    say(
        f"[bold {_COLOURS[overall]}]{overall}[/]: {found.confirmed} of {found.claimed} claimed rows hold, "
        f"{found.ties} ties (runs: {runs or 'none'})"
    )
