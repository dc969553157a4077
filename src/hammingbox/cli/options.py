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
from hammingbox.cli.completion import a_shipped_victim, one_of, one_or_file, several_of
from hammingbox.cli.console import err, plain
from hammingbox.data.registry import DATASETS
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, MissingColumnsError, unknown_name
from hammingbox.running.tasks import SpaceChanges
from hammingbox.running.tasks import Task as Task
from hammingbox.seeding import LARGEST_SEED
from hammingbox.settings import LARGEST_MEMORY, MOST_ROWS
from hammingbox.threat.amount import amount_of
from hammingbox.threat.goal import Goal, goal_between
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import Space
from hammingbox.threat.threat_entries import amount_of as amount_in_ticks
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.open_model import open_model

MOST_BUDGETS = 1000

DataName = Annotated[
    str,
    typer.Argument(
        help=f"Data set ({', '.join(DATASETS)}), or your own CSV, Parquet or Excel file.",
        metavar="DATA",
        autocompletion=one_or_file(lambda: DATASETS),
    ),
]
Label = Annotated[str | None, typer.Option(help="Label column of your own file.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="schema.toml of your own file (see `hammingbox data inspect`).")
]
DataDir = Annotated[Path | None, typer.Option(help="Folder that holds data files; HAMMINGBOX_DATA by default.")]
VictimPath = Annotated[
    Path | None,
    typer.Option(
        "--victim",
        help="Checkpoint folder, or the name of a shipped victim (see `hammingbox victims`).",
        autocompletion=a_shipped_victim,
    ),
]
_MODEL_HELP = (
    "Your own model: a file (XGBoost .json .ubj, LightGBM .txt, CatBoost .cbm, ONNX .onnx, scikit-learn .skops), "
    "a transformers folder, package.module:object, or the URL of a service."
)
ModelSpec = Annotated[str | None, typer.Option("--model", help=_MODEL_HELP, metavar="MODEL")]
ModelSpecs = Annotated[list[str] | None, typer.Option("--model", help=f"{_MODEL_HELP} Repeatable.", metavar="MODEL")]
OneModel = Annotated[list[str] | None, typer.Option("--model", help=_MODEL_HELP, metavar="MODEL")]
"""For `one_model`: an option of one value silently takes the last of several."""
ModelName = Annotated[
    str,
    typer.Option(help="Names --model in records, in place of the hash of its file; a new version needs a new name."),
]
Seed = Annotated[
    int, typer.Option(min=0, max=LARGEST_SEED, help="Seed; with a row's content it decides that row's randomness.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on one line instead of a table.")]
BatchSize = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_ROWS, help="Rows attacked together; changes speed, not results. Fewer with workers."),
]
Memory = Annotated[int, typer.Option(min=1, max=LARGEST_MEMORY // 2**20, help="MiB for a micro-batch.")]
Device = Annotated[str, typer.Option(help="Where the victim runs: cpu, cuda, cuda:1, ...")]
From = Annotated[
    list[str] | None, typer.Option("--from", help="Attack rows of this class only (repeatable).", metavar="CLASS")
]
To = Annotated[
    list[str] | None,
    typer.Option("--to", "--target", help="A class to reach; any wrong one without it (repeatable).", metavar="CLASS"),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a finished model that is in the folder.")]
Split = Annotated[
    str,
    typer.Option(
        help="Which part of the data: train, validation, test or all.",
        autocompletion=one_of(("train", "validation", "test", "all")),
    ),
]
AttackNames = Annotated[
    str, typer.Option("--attacks", help="Attacks, separated by commas.", autocompletion=several_of(ATTACKS))
]
Immutable = Annotated[list[str] | None, typer.Option(help="A feature that may not change (repeatable).")]
Forbid = Annotated[
    list[str] | None,
    typer.Option(help="FEATURE=CATEGORY that may not be written; '*' is every feature (repeatable)."),
]
FullSpaceFlag = Annotated[
    bool, typer.Option("--full-space", help="Allow every category, also those the data set's own threat model forbids.")
]
Protect = Annotated[list[str] | None, typer.Option(help="A word of a text that may not change (repeatable).")]
ThreatFile = Annotated[
    Path | None,
    typer.Option(
        "--threat", help="threat.toml: what changes cost and what must hold between columns (see `hammingbox threat`)."
    ),
]
Functions = Annotated[
    list[str] | None,
    typer.Option(
        "--function", help="package.module:name, a Python function that the file may use (repeatable).", metavar="NAME"
    ),
]
Plausible = Annotated[
    bool,
    typer.Option(
        "--plausible", help="Forbid two values that no row of the table has together (numbers of many values by range)."
    ),
]
Neighbours = Annotated[
    Path | None, typer.Option(help="JSON of words and their neighbours, in place of WordNet's synonyms.")
]


def changes_from(
    immutable: Sequence[str] | None,
    forbid: Sequence[str] | None,
    full: bool,
    protect: Sequence[str] | None,
    neighbours: Path | None,
    threat: Path | None = None,
    functions: Sequence[str] | None = None,
    plausible: bool = False,
) -> SpaceChanges:
    """What the options change about a data set's own S(x).

    Raises:
        InputError: a malformed --forbid.
    """
    forbidden: dict[str, list[str]] = {}
    for item in forbid or ():
        feature, separator, category = item.partition("=")
        if not separator or not feature:
            raise InputError(f"expected --forbid FEATURE=CATEGORY, got {item!r}.")
        forbidden.setdefault(feature, []).append(category)
    if functions and threat is None:
        raise InputError("expected --function with --threat, got it alone.")
    return SpaceChanges(
        tuple(immutable or ()), forbidden, full, tuple(protect or ()), neighbours, threat, tuple(functions or ()),
        plausible,
    )  # fmt: skip


def model_from(
    victim: Path | None,
    model: str | None,
    schema: Schema,
    name: str = "",
    *,
    label: str | None = None,
    quiet: bool = False,
) -> tuple[Checkpoint, str]:
    """The victim of --victim or --model, and its place for records.

    What is to be said about it is said on standard error, unless findings say it later. `label` is the label column
    that the user names: a model that takes it as a feature predicts something else.

    Raises:
        InputError: neither or both, or a model that does not fit the table.
        FileError: there is none, or a damaged one.
    """
    if (victim is None) == (model is None):
        raise InputError(
            f"expected --victim CHECKPOINT or --model MODEL, got {'neither' if victim is None else 'both'}."
        )
    if victim is not None:
        return load_checkpoint(victim, schema=schema), str(victim)
    try:
        opened = open_model(model or "", schema, name=name)
    except MissingColumnsError as error:
        raise error.with_label(label) from None
    for note in () if quiet else opened.victim.notes:
        err.print(f"model: {plain(note)}", highlight=False, soft_wrap=True)
    return opened, str(model)


def one_model(models: Sequence[str] | None) -> str | None:
    """The only --model.

    Raises:
        InputError: several.
    """
    if models and len(models) > 1:
        raise InputError(
            f"expected one --model, got {len(models)} ({', '.join(models)}). Audit each into a folder of its own, or "
            "give all of them to `hammingbox compare`."
        )
    return models[0] if models else None


def goal_from(sources: Sequence[str] | None, targets: Sequence[str] | None) -> Goal:
    """The goal of --from and --to."""
    return goal_between(tuple(sources or ()), tuple(targets or ()))


def device_from(text: str) -> torch.device:
    """A device by name.

    Raises:
        InputError: torch does not know it, or this machine does not have it.
    """
    try:
        device = torch.device(text)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise InputError(
            f"expected a device of this machine for --device, got {text!r} ({reason}). "
            "Use cpu, or install a build of torch that supports it."
        ) from error
    if device.type == "meta":
        raise InputError("expected a device that computes for --device, got 'meta'. Use cpu or cuda.")
    return device


Made = TypeVar("Made")


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
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            changes[key] = value
    default: Any = table[name]()
    known = [field.name for field in fields(default)]
    for key in changes:
        if key not in known:
            raise unknown_name(f"setting of {name}", key, known)
    return table[name](**changes)


def budgets_from(text: str | None, space: Space | None = None, default: Sequence[int] = ()) -> list[int]:
    """Budgets written as 1-5 or 1,3,5; where a space has prices, amounts such as 0.2,1,10, which become ticks.

    Args:
        text: what the user wrote; None for what the threat file proposes, or else the default.
        space: what the attacker may write.
        default: changes, if nobody says anything.

    Raises:
        InputError: anything else, or no budget where only the user can know one.
    """
    unit = None if space is None else space.unit
    if text is None:
        proposed = space.budgets if isinstance(space, RuledSpace) else ()
        if not proposed and unit is not None:
            raise InputError(
                f"expected --budgets in {unit.currency or 'the unit of the prices'}, got none. "
                "Name them, such as --budgets 1,10, or write budgets = [1, 10] into the threat file."
            )
        return sorted(set(proposed or default))
    found: Sequence[int] = ()
    if unit is not None:
        found = [amount_in_ticks(part, unit) for part in text.split(",")]
    elif match := re.fullmatch(r"(\d{1,12})-(\d{1,12})", text.strip(), re.ASCII):
        found = range(int(match[1]), int(match[2]) + 1)
    elif re.fullmatch(r"\d{1,12}(,\d{1,12})*", text.strip(), re.ASCII):
        found = [int(part) for part in text.split(",")]
    if not found:
        raise InputError(f"expected budgets such as 1-5 or 1,3,5, got {text!r:.80}.")
    if len(found) > MOST_BUDGETS:
        raise InputError(f"expected at most {MOST_BUDGETS} budgets, got {len(found):,}. Choose some of them.")
    return list(found)


def budget_from(text: str | None, space: Space, default: int) -> int:
    """One budget: changes, or an amount where the space has prices.

    Raises:
        InputError: several, or none.
    """
    if text is not None and space.unit is None and not re.fullmatch(r"\d{1,12}", text.strip(), re.ASCII):
        raise InputError(f"expected a budget such as 3, got {text!r:.80}.")
    found = budgets_from(text, space, (default,))
    if text is not None and len(found) != 1:
        raise InputError(f"expected one budget, got {text!r:.80}.")
    return found[-1]


def budget_text(budget: int, space: Space) -> str:
    """A budget as a person reads it."""
    return f"budget {amount_of(budget, space.unit)}"
