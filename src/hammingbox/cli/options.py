"""Options that several commands share, and how they become objects."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
import typer

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.data.registry import DATASETS
from hammingbox.errors import InputError, unknown_name
from hammingbox.running.tasks import Task as Task

DataName = Annotated[
    str, typer.Argument(help=f"Data set ({', '.join(DATASETS)}), or your own CSV or Parquet file.", metavar="DATA")
]
Label = Annotated[str | None, typer.Option(help="Label column of your own file.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="schema.toml of your own file (see `hammingbox data inspect`).")
]
DataDir = Annotated[Path | None, typer.Option(help="Folder that holds data files; HAMMINGBOX_DATA by default.")]
VictimPath = Annotated[Path, typer.Option("--victim", help="Checkpoint folder written by `hammingbox train`.")]
Rows = Annotated[int, typer.Option(min=1, help="How many rows of the split are used.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed; with a row's content it decides that row's randomness.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on one line instead of a table.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Rows attacked together; changes speed, not results.")]
Memory = Annotated[int, typer.Option(min=1, help="MiB for a micro-batch.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a finished model that is in the folder.")]
Split = Annotated[str, typer.Option(help="Which part of the data: train, validation or test.")]
Immutable = Annotated[list[str] | None, typer.Option(help="A feature that may not change (repeatable).")]
Forbid = Annotated[
    list[str] | None,
    typer.Option(help="FEATURE=CATEGORY that may not be written; '*' is every feature (repeatable)."),
]
FullSpaceFlag = Annotated[
    bool, typer.Option("--full-space", help="Allow every category, also those the data set's own threat model forbids.")
]
Protect = Annotated[list[str] | None, typer.Option(help="A word of a text that may not change (repeatable).")]
Neighbours = Annotated[
    Path | None, typer.Option(help="JSON of words and their neighbours, in place of WordNet's synonyms.")
]
FromClass = Annotated[
    list[str] | None,
    typer.Option("--from", help="Attack rows of this class only (repeatable); all classes without it."),
]
ToClass = Annotated[
    list[str] | None, typer.Option("--to", help="A class to reach (repeatable); any wrong class without it.")
]
Device = Annotated[str, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1, mps.")]


Made = TypeVar("Made")


def device_from(text: str) -> torch.device:
    """A device by its name.

    Raises:
        InputError: there is no such device, or torch cannot use it here.
    """
    try:
        device = torch.device(text)
    except RuntimeError as error:
        raise InputError(
            f"expected a device such as cpu, cuda, cuda:1 or mps, got {text!r}. Use --device cpu."
        ) from error
    try:
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            f"expected a device that torch can use on this machine, got {text!r} ({reason}). "
            "Use --device cpu, or install a build of torch for that device."
        ) from error
    return device


def attack_from(name: str, settings: Sequence[str]) -> Attack:
    """An attack of the table with settings from the command line."""
    return made_from("attack", ATTACKS, name, settings)


def made_from(kind: str, table: Mapping[str, Callable[..., Made]], name: str, settings: Sequence[str]) -> Made:
    """An entry of a table of dataclasses with settings from the command line.

    Raises:
        InputError: unknown name or setting, or a value that does not fit.
    """
    if name not in table:
        raise unknown_name(kind, name, table)
    changes: dict[str, Any] = {}
    for item in settings:
        key, separator, value = item.partition("=")
        if not separator:
            raise InputError(f"expected --set NAME=VALUE, got {item!r}.")
        try:
            changes[key] = ast.literal_eval(value.capitalize() if value.lower() in ("true", "false") else value)
        except (ValueError, SyntaxError):
            changes[key] = value
    default: Any = table[name]()
    known = [field.name for field in fields(default)]
    for key in changes:
        if key not in known:
            raise unknown_name(f"setting of {name}", key, known)
    return table[name](**changes)


def budgets_from(text: str) -> list[int]:
    """Budgets written as 1-5 or 1,3,5.

    Raises:
        InputError: anything else.
    """
    if match := re.fullmatch(r"(\d+)-(\d+)", text.strip()):
        budgets = list(range(int(match[1]), int(match[2]) + 1))
    elif re.fullmatch(r"\d+(,\d+)*", text.strip()):
        budgets = [int(part) for part in text.split(",")]
    else:
        budgets = []
    if not budgets:
        raise InputError(f"expected budgets such as 1-5 or 1,3,5, got {text!r}.")
    return budgets
