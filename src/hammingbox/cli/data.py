"""`hammingbox data`: what data there is and what it looks like."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from hammingbox.cli.console import out, plain, print_json, say
from hammingbox.cli.options import DataDir, DataName, Json, Label, SchemaFile, Task
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.safe_text import one_line
from hammingbox.data.inspection import inspect_table
from hammingbox.data.reading import Reading
from hammingbox.data.registry import DATASETS
from hammingbox.data.schema_file import write_schema
from hammingbox.errors import FileError

app = typer.Typer(help="Data sets: list them, look at one, inspect your own file.", no_args_is_help=True)


@app.command("list")
def list_all(json: Json = False) -> None:
    """Lists the data sets by name."""
    if json:
        print_json([{"name": name, "summary": source.summary} for name, source in DATASETS.items()])
        return
    table = Table("name", "what it is", box=None)
    for name, source in DATASETS.items():
        table.add_row(name, source.summary)
    out.print(table)


@app.command("show")
@reads_own_file
def show(
    data: DataName,
    *,
    reading: Reading,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Shows the parts, the classes, the categories and a few rows of a data set."""
    opened = Task.of(data, label, schema_file, data_dir, reading=reading)
    source, splits = opened.source, opened.splits
    schema = splits.schema
    parts = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    counts = {
        name: dict(zip(schema.classes, torch.bincount(p.labels, minlength=len(schema.classes)).tolist(), strict=True))
        for name, p in parts.items()
    }
    smallest, largest = min(schema.cardinalities), max(schema.cardinalities)
    if json:
        print_json({
            "name": data, "summary": source.summary, "features": len(schema.features),
            "categories": {"smallest": smallest, "largest": largest}, "classes": list(schema.classes),
            "rows": {name: len(part) for name, part in parts.items()}, "class_counts": counts,
            "forbidden": source.forbidden, "kept": source.kept, "immutable": list(source.immutable),
            "schema_digest": schema.digest,
        })  # fmt: skip
        return
    say(f"[bold]{plain(data)}[/]  {plain(source.summary)}")
    span = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    out.print(f"{len(schema.features)} features of {span} categories")
    table = Table("part", "rows", *map(plain, schema.classes), box=None)
    for name, part in parts.items():
        table.add_row(name, str(len(part)), *map(str, counts[name].values()))
    out.print(table)
    separator = "" if max(len(c) for c in schema.features[0].categories) == 1 else " "
    for row, label_id in zip(splits.test.ids[:3].tolist(), splits.test.labels[:3].tolist(), strict=True):
        shown = separator.join(schema.decode(row))[:100]
        out.print(f"  {one_line(shown)}  {one_line(schema.classes[label_id])}", highlight=False, markup=False)


_LONGEST_VALUE = 40
"""Characters of a value in the table of columns: a text would fill a page."""


def _beginning(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 3]}..."


@app.command("inspect")
def inspect(
    file: Annotated[Path, typer.Argument(help="Your CSV, Parquet or Excel file.")],
    label: Annotated[str, typer.Option(help="The column to predict.")],
    out_file: Annotated[Path | None, typer.Option("--out", help="Where to write schema.toml, to be edited.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a schema.toml that is there.")] = False,
    categories: Annotated[
        bool, typer.Option("--categories", help="Write the categories of each column, so that other files must fit.")
    ] = False,
    encoding: Annotated[str, typer.Option(help="Encoding of a CSV file, such as latin-1.")] = Reading.encoding,
    json: Json = False,
) -> None:
    """Infers the schema of your own file, shows it, and writes it as an editable schema.toml."""
    found = inspect_table(file, label, encoding=encoding)
    if out_file is not None:
        if out_file.exists() and not overwrite:
            raise FileError(f"expected a new file for the schema, got {out_file}, which is there. Use --overwrite.")
        write_schema(found.schema.stated() if categories else found.schema, out_file)
    if json:
        facts: dict[str, Any] = {k: v for k, v in asdict(found).items() if k not in ("schema", "columns")}
        print_json(facts | {"columns": [asdict(column) for column in found.columns]})
        return
    say(f"[bold]{plain(found.source)}[/]: {found.rows} rows, {found.distinct_rows} of them distinct")
    total = max(sum(found.classes.values()), 1)
    balance = ", ".join(f"{name} {count} ({100 * count / total:.1f} %)" for name, count in found.classes.items())
    say(plain(f"label {label}: {balance}"))
    for note in found.notes:
        say(plain(note))
    table = Table("column", "kind", "values", "missing", "rare", "most common", box=SIMPLE_HEAD)
    table.columns[0].overflow = "fold"
    for column in found.columns:
        common = f"{_beginning(column.most_common[0])} ({column.most_common[1]})"
        cells = (column.name, column.kind, column.cardinality, column.missing, column.rare, common)
        table.add_row(*map(plain, cells))
    out.print(table)
    for column in found.columns:
        if column.note:
            say(plain(f"{column.name}: {column.note}"))
    if out_file is not None:
        say(f"schema written to {plain(out_file)}: edit it, then pass it with --schema")
