"""Options that several commands share, and how they become objects."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from hammingbox.attacks import ATTACKS, Attack
from hammingbox.data.registry import DATASETS, Source, source_named
from hammingbox.data.schema import Dataset, Splits
from hammingbox.errors import InputError, unknown_name
from hammingbox.space import FullSpace, MaskedSpace, Space
from hammingbox.synonym_space import SynonymSpace
from hammingbox.text.synonyms import read_neighbours

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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Rows attacked together; changes speed, not results.")]
Memory = Annotated[int, typer.Option(min=1, help="MiB for a micro-batch.")]
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


Made = TypeVar("Made")


@dataclass(frozen=True)
class Opened:
    """A data set that was found and read."""

    name: str
    source: Source
    splits: Splits

    @staticmethod
    def of(name: str, label: str | None = None, schema: Path | None = None, data_dir: Path | None = None) -> "Opened":
        """Finds and reads a data set by name, or a user's own file.

        Raises:
            InputError: neither a known name nor a file.
            FileError: a file is missing or damaged.
        """
        source = source_named(name, label=label, schema=schema)
        return Opened(name, source, source.load(data_dir=data_dir))

    def part(self, split: str, rows: int) -> Dataset:
        """The first rows of a part (parts are shuffled once and for all, so these are a fair sample).

        Raises:
            InputError: no such part, or fewer rows.
        """
        parts = {"train": self.splits.train, "validation": self.splits.validation, "test": self.splits.test}
        if split not in parts:
            raise unknown_name("split", split, parts)
        if rows > len(parts[split]):
            raise InputError(f"expected at most {len(parts[split])} rows, got --rows {rows}. This split has no more.")
        return parts[split].take(slice(0, rows))

    def space(
        self,
        *,
        immutable: Sequence[str] | None = None,
        forbid: Sequence[str] | None = None,
        full: bool = False,
        protect: Sequence[str] | None = None,
        neighbours: Path | None = None,
    ) -> Space:
        """The data set's own threat model, with what the command line adds to it.

        Raises:
            InputError: a malformed or unknown feature or category, or an option that does not fit the data.
        """
        own, schema = self.source, self.splits.schema
        if own.synonyms and not full:
            if immutable or forbid:
                raise InputError(
                    "expected --protect WORD for texts, got --immutable or --forbid. Words have no columns."
                )
            table = None if neighbours is None else read_neighbours(neighbours)
            return SynonymSpace(schema, table=table, protected=protect or ())
        if protect or neighbours:
            raise InputError("expected --protect and --neighbours with texts only, got them with a table.")
        forbidden = {} if full else {name: list(words) for name, words in own.forbidden.items()}
        for item in forbid or ():
            feature, separator, category = item.partition("=")
            if not separator or not feature:
                raise InputError(f"expected --forbid FEATURE=CATEGORY, got {item!r}.")
            forbidden.setdefault(feature, []).append(category)
        fixed = [*(() if full else own.immutable), *(immutable or ())]
        kept = {} if full else own.kept
        if not forbidden and not kept and not fixed:
            return FullSpace(schema)
        return MaskedSpace(schema, immutable=fixed, forbidden=forbidden, kept=kept)


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
            changes[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            changes[key] = value
    default: Any = table[name]()
    known = default.__dataclass_fields__
    for key, value in changes.items():
        if key not in known:
            raise unknown_name(f"setting of {name}", key, known)
        now = getattr(default, key)
        if now is not None and value is not None and type(now) is not type(value) and not _widens(now, value):
            raise InputError(f"expected {key} of {name} as {type(now).__name__} (now {now!r}), got {value!r}.")
    return table[name](**changes)


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
