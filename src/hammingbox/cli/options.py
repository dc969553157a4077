"""Options that several commands share, and how they become objects."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.data.registry import DATASETS, source_named
from hammingbox.data.schema import Dataset, Schema, Splits
from hammingbox.errors import InputError, unknown_name
from hammingbox.space import FullSpace, MaskedSpace, Space

DataName = Annotated[str, typer.Argument(help=f"Data set: {', '.join(DATASETS)}.", metavar="DATA")]
VictimPath = Annotated[Path, typer.Option("--victim", help="Checkpoint folder written by `hammingbox train`.")]
Rows = Annotated[int, typer.Option(min=1, help="How many rows of the split are used.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed; with a row's content it decides that row's randomness.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Rows attacked together; changes speed, not results.")]
Memory = Annotated[int, typer.Option(min=1, help="MiB for a micro-batch.")]
Split = Annotated[str, typer.Option(help="Which part of the data: train, validation or test.")]
Immutable = Annotated[list[str], typer.Option(help="A feature that may not change (repeatable).")]
Forbid = Annotated[
    list[str],
    typer.Option(help="FEATURE=CATEGORY that may not be written; '*' is every feature (repeatable)."),
]
FullSpaceFlag = Annotated[
    bool, typer.Option("--full-space", help="Allow every category, also those the data set's own threat model forbids.")
]


def part_of(splits: Splits, name: str) -> Dataset:
    """Train, validation or test.

    Raises:
        InputError: no such part.
    """
    parts = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    if name not in parts:
        raise unknown_name("split", name, parts)
    return parts[name]


def first_rows(data: Dataset, rows: int) -> Dataset:
    """The first rows of a part (parts are shuffled once and for all, so these are a fair sample).

    Raises:
        InputError: there are fewer.
    """
    if rows > len(data):
        raise InputError(f"expected at most {len(data)} rows, got --rows {rows}. This split has no more.")
    return data.take(slice(0, rows))


def space_for(source: str, schema: Schema, immutable: Sequence[str], forbid: Sequence[str], full: bool) -> Space:
    """The data set's own threat model, with what the command line adds to it.

    Raises:
        InputError: a malformed or unknown feature or category.
    """
    own = source_named(source)
    forbidden = {} if full else {name: list(words) for name, words in own.forbidden.items()}
    for item in forbid:
        feature, separator, category = item.partition("=")
        if not separator or not feature:
            raise InputError(f"expected --forbid FEATURE=CATEGORY, got {item!r}.")
        forbidden.setdefault(feature, []).append(category)
    if not forbidden and not own.kept and not immutable:
        return FullSpace(schema)
    return MaskedSpace(schema, immutable=immutable, forbidden=forbidden, kept=own.kept)


def attack_from(name: str, settings: Sequence[str]) -> Attack:
    """An attack of the table with settings from the command line.

    Raises:
        InputError: unknown attack or setting, or a value that does not fit.
    """
    if name not in ATTACKS:
        raise unknown_name("attack", name, ATTACKS)
    changes: dict[str, Any] = {}
    for item in settings:
        key, separator, value = item.partition("=")
        if not separator:
            raise InputError(f"expected --set NAME=VALUE, got {item!r}.")
        try:
            changes[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            changes[key] = value
    default = ATTACKS[name]()
    known = default.__dataclass_fields__
    for key, value in changes.items():
        if key not in known:
            raise unknown_name(f"setting of {name}", key, known)
        now = getattr(default, key)
        if now is not None and value is not None and type(now) is not type(value) and not _widens(now, value):
            raise InputError(f"expected {key} of {name} as {type(now).__name__} (now {now!r}), got {value!r}.")
    return ATTACKS[name](**changes)


def _widens(now: object, value: object) -> bool:
    return isinstance(now, float) and isinstance(value, int) and not isinstance(value, bool)


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
