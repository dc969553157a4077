"""`hammingbox data`: what data there is and what it looks like."""

import torch
import typer
from rich.table import Table

from hammingbox.cli.console import out, print_json
from hammingbox.cli.options import DataName, Json
from hammingbox.data.registry import DATASETS, source_named

app = typer.Typer(help="Data sets: list them, look at one.", no_args_is_help=True)


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
def show(data: DataName, json: Json = False) -> None:
    """Shows the parts, the classes, the categories and a few rows of a data set."""
    source = source_named(data)
    splits = source.load()
    schema = splits.schema
    parts = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    facts = {
        "name": data,
        "summary": source.summary,
        "features": len(schema.features),
        "categories": {"smallest": min(schema.cardinalities), "largest": max(schema.cardinalities)},
        "classes": list(schema.classes),
        "rows": {name: len(part) for name, part in parts.items()},
        "class_counts": {
            name: dict(
                zip(schema.classes, torch.bincount(part.labels, minlength=len(schema.classes)).tolist(), strict=True)
            )
            for name, part in parts.items()
        },
        "forbidden": source.forbidden,
        "kept": source.kept,
        "schema_digest": schema.digest,
    }
    if json:
        print_json(facts)
        return
    out.print(f"[bold]{data}[/]  {source.summary}")
    smallest, largest = min(schema.cardinalities), max(schema.cardinalities)
    span = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    out.print(f"{len(schema.features)} features of {span} categories")
    table = Table("part", "rows", *schema.classes, box=None)
    for name, part in parts.items():
        counts = torch.bincount(part.labels, minlength=len(schema.classes)).tolist()
        table.add_row(name, str(len(part)), *map(str, counts))
    out.print(table)
    separator = "" if max(len(c) for c in schema.features[0].categories) == 1 else " "
    for row, label in zip(splits.test.ids[:3].tolist(), splits.test.labels[:3].tolist(), strict=True):
        out.print(f"  {separator.join(schema.decode(row))[:100]}  {schema.classes[label]}", highlight=False)
