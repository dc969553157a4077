"""`hammingbox results`: what a results folder holds."""

from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.table import Table
from rich.text import Text

from hammingbox.cli.console import out, plain, print_json, say, write_output
from hammingbox.cli.options import Json
from hammingbox.cli.tables import show_table
from hammingbox.errors import InputError, unknown_name
from hammingbox.files import atomic_write, write_bytes
from hammingbox.report.artefacts.export import (
    BINARY,
    FORMATS,
    What,
    records,
    row_records,
    run_record,
    runs_of,
    short_table,
)
from hammingbox.report.artefacts.row_export import write_partitions, write_rows_csv, write_rows_parquet
from hammingbox.running.store import open_store
from hammingbox.settings import MOST_ROWS

app = typer.Typer(help="Lists, shows and exports what a results folder holds.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="Results folder, or its results.sqlite.", metavar="FOLDER")]


OfModel = Annotated[str | None, typer.Option("--model", help="Runs of this model or checkpoint only.", metavar="MODEL")]


@app.command("list")
def list_runs(folder: Folder, model: OfModel = None, json: Json = False) -> None:
    """One line per run: success and robust error, and proofs where there are any."""
    with open_store(folder, readonly=True) as store, store.snapshot():
        found = records(store, "runs", model=model)
    if json:
        print_json(found)
        return
    show_table(short_table(found))


@app.command("show")
def show_run(
    folder: Folder,
    run: Annotated[int, typer.Argument(help="Number of the run, see `results list`.")],
    examples: Annotated[int, typer.Option(min=0, max=MOST_ROWS, help="Broken rows to show.")] = 3,
    json: Json = False,
) -> None:
    """One run: its settings, rates, sessions with their environment, and some broken rows."""
    with open_store(folder, readonly=True) as store, store.snapshot():
        facts = store.run(run)
        record, sessions = run_record(store, facts), store.sessions(run)
        rows, schema = store.rows(run, store.broken(run, examples)), store.schema(facts)
    broken = list(row_records(facts, schema, rows))
    names = [feature.name for feature in schema.features]
    if json:
        print_json(record | {"sessions": [session.__dict__ for session in sessions], "examples": broken})
        return
    table = Table(show_header=False, box=None)
    for name, value in record.items():
        table.add_row(name, Text(f"{value:.4g}" if isinstance(value, float) else str(value)))
    out.print(table)
    for session in sessions:
        env = {name: plain(value) for name, value in session.environment.items() if value}
        say(
            f"session from {plain(session.started)} to {plain(session.updated)}: {session.rows} rows, "
            f"{session.seconds:.1f} s, hammingbox {env.get('hammingbox', 'unknown')} "
            f"(git {env.get('git', 'unknown')}), torch {env.get('torch', 'unknown')}, "
            f"{env.get('threads', '?')} of {env.get('cores', '?')} cores"
        )
    for row in broken:
        changes = [
            f"{name}: {old} -> {new}"
            for name, old, new in zip(names, row["clean"], row["adversarial"], strict=True)
            if old != new
        ]
        out.print(Text(f"row {row['row']}, {row['label']} -> {row['prediction']}: {'; '.join(changes)}"))


@app.command("export")
def export(
    folder: Folder,
    form: Annotated[str, typer.Option("--format", help=f"One of: {', '.join(FORMATS)}.")] = "csv",
    what: Annotated[str, typer.Option(help="runs (a line each), rows with a column per feature, or classes.")] = "runs",
    model: OfModel = None,
    file: Annotated[Path | None, typer.Option("--out", help="File to write; standard output without it.")] = None,
    partitioned: Annotated[
        bool,
        typer.Option(
            "--partitioned",
            help="With --what rows --format parquet: --out is a new folder with files by attack, budget and run.",
        ),
    ] = False,
) -> None:
    """Writes runs, rows or classes for other programs: CSV, Excel, Parquet, Markdown, LaTeX (booktabs), SVG, PDF."""
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    chosen: dict[str, What] = {name: name for name in get_args(What)}
    if what not in chosen:
        raise unknown_name("part of a store", what, chosen)
    if partitioned and (what != "rows" or form != "parquet" or file is None):
        raise InputError(
            "expected --partitioned with --what rows, --format parquet and --out FOLDER, got other options."
        )
    if what == "rows" and file is not None and form in ("csv", "parquet"):
        _export_rows(folder, form, model, file, partitioned=partitioned)
        return
    with open_store(folder, readonly=True) as store, store.snapshot():
        found = records(store, chosen[what], model=model)
    if not found:
        raise InputError(f"expected {what} to export in {folder}, got none. Run `hammingbox compare` first.")
    content = FORMATS[form](found)
    if file is not None:
        write_bytes(file, content)
        say(f"{len(found):,} {what} written to {plain(file)}")
    else:
        write_output(content, is_text=form not in BINARY)


def _export_rows(folder: Path, form: str, model: str | None, file: Path, *, partitioned: bool) -> None:
    """Writes the rows of a store a few at a time: there may be millions."""
    with open_store(folder, readonly=True) as store, store.snapshot():
        runs = runs_of(store, model)
        if not any(run.rows for run in runs):
            raise InputError(f"expected rows to export in {folder}, got none. Run `hammingbox compare` first.")
        if partitioned:
            written = write_partitions(store, runs, file)
        else:
            with atomic_write(file) as sink:
                written = (write_rows_csv if form == "csv" else write_rows_parquet)(store, runs, sink)
    say(f"{written:,} rows written to {plain(file)}")
