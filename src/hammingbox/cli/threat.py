"""`hammingbox threat`: checks a threat.toml against a table, and proposes rules that the data keeps."""

from dataclasses import asdict, replace
from math import log10
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from hammingbox.cli.console import err, out, plain, print_json, say
from hammingbox.cli.options import DataDir, Forbid, Functions, Immutable, Json, Label, SchemaFile, Task, changes_from
from hammingbox.cli.own_file import reads_own_file
from hammingbox.data.dataset import Dataset
from hammingbox.data.reading import Reading
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.files import write_bytes
from hammingbox.running.reaching import reaching
from hammingbox.settings import MOST_ROWS
from hammingbox.threat.proposal import propose
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.function import functions_named
from hammingbox.threat.rules.moves import Moves, moves_of, size_of
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import Space
from hammingbox.threat.survey import ROWS, Survey, survey
from hammingbox.threat.threat_file import ThreatFile, read_threat

app = typer.Typer(
    help="What an attacker may do: check a threat.toml against your table, or let the table propose rules.",
    no_args_is_help=True,
)
TableFile = Annotated[str, typer.Argument(help="Your table: a CSV, Parquet or Excel file.", metavar="TABLE")]
_MOST_MOVES = 5
"""Moves of a group of columns that are shown for a row."""


@app.command("check")
@reads_own_file
def check(
    data: TableFile,
    threat: Annotated[Path, typer.Argument(help="The threat.toml.", metavar="THREAT")],
    *,
    reading: Reading,
    label: Label = None,
    schema_file: SchemaFile = None,
    row: Annotated[
        int | None, typer.Option(min=0, help="Show what an attacker can do to this row of the file, counted from 0.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, max=MOST_ROWS, help="Rows whose possible changes are listed.")] = ROWS,
    function: Functions = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Checks a threat.toml: which rules the data itself breaks, how large S(x) is, and what changes cost."""
    opened = Task.of(data, label, schema_file, data_dir, reading=reading)
    space = opened.space(changes_from(immutable, forbid, False, None, None))
    whole = opened.whole("all")
    known = opened.splits.train if len(opened.splits.train) else whole
    read = read_threat(threat, whole.schema, known, functions=functions_named(function or ()))
    looked_at = whole.take(slice(0, rows) if row is None else whole.numbers == row)
    opened, _, reached = reaching(opened, looked_at, RuledSpace(space, read.rules))
    if isinstance(reached, RuledSpace):  # it is
        whole, space, read = opened.whole("all"), reached.base, replace(read, rules=reached.rules)
    if row is not None:
        _show_row(read, space, whole, row, as_json=json)
        return
    found = survey(read.rules, space, whole, read.budgets, rows)
    if json:
        sizes = {f"log10_{name}": _log10(getattr(found, name)) for name in ("smallest", "median", "largest")}
        facts = {key: value for key, value in asdict(found).items() if key not in ("smallest", "median", "largest")}
        print_json(facts | sizes)
    else:
        _show_survey(read, found)


@app.command("propose")
@reads_own_file
def propose_rules(
    data: TableFile,
    *,
    reading: Reading,
    label: Label = None,
    schema_file: SchemaFile = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where to write it; the screen without it.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    support: Annotated[
        float, typer.Option(min=0.5, max=1, help="The least share of the rows that must keep a rule.")
    ] = 0.99,
    data_dir: DataDir = None,
) -> None:
    """Proposes rules that the data keeps, with their support, as comments of a threat.toml to be accepted."""
    if out_file is not None and out_file.exists() and not overwrite:
        raise FileError(f"expected a new file for the proposal, got {out_file}, which is there. Use --overwrite.")
    opened = Task.of(data, label, schema_file, data_dir, reading=reading)
    text = propose(opened.whole("all"), least=support).text
    if out_file is None:
        out.print(text, end="", highlight=False, markup=False, soft_wrap=True)
        return
    write_bytes(out_file, text.encode())
    err.print(f"proposal written to {plain(out_file)}: accept a rule by deleting its '# '", highlight=False)


def _show_survey(read: ThreatFile, found: Survey) -> None:
    unit = read.rules.unit
    say(f"[bold]{plain(read.source)}[/]: {found.rows:,} rows")
    if found.broken:
        table = Table("rule", "rows that break it", "share", "such as rows", box=SIMPLE_HEAD)
        for rule in found.broken:
            share = f"{100 * rule.rows / max(found.rows, 1):.2f} %"
            table.add_row(plain(rule.name), f"{rule.rows:,}", share, ", ".join(map(str, rule.examples)))
        out.print(table)
    table = Table("column", "rows that can be changed", "cheapest change", "dearest change", box=SIMPLE_HEAD)
    for column in found.prices:
        names = plain(" + ".join(column.columns))
        cells = (_amount(price, unit) for price in (column.cheapest, column.dearest))
        table.add_row(names, f"{column.rows:,}", *(cells if column.is_whole else ("too many to list", "")))
    out.print(table)
    is_bound = any(relation.pointwise for relation in read.rules.relations)
    sizes = f"{_sizes(found)}{' (at most: rules about many columns at once are not counted)' if is_bound else ''}"
    say(f"S(x) of {found.looked_at:,} rows (each row itself included): {sizes}")
    for budget, rows in found.attackable.items():
        say(f"budget {plain(_amount(budget, unit))}: pays for some change in {rows:,} of {found.looked_at:,} rows")
    if found.worth is not None:
        say(f"gain - margin: median {plain(_amount(found.worth, unit))}")
    examples = f", such as rows {', '.join(map(str, found.fixed_examples))}" if found.fixed else ""
    say(f"rows that cannot be attacked, since no change is allowed: {found.fixed:,}{examples}")


def _sizes(found: Survey) -> str:
    if found.median is None:
        return "too large to list in every row"
    text = ", ".join(f"{name} {_count(getattr(found, name))}" for name in ("smallest", "median", "largest"))
    return text + (f"; too large to list in {found.uncounted:,} rows" if found.uncounted else "")


def _count(number: int) -> str:
    """A number that may have thousands of digits."""
    return f"{number:,}" if number < 10**12 else f"about 10^{log10(number):.0f}"


def _log10(number: int | None) -> float | None:
    return None if number is None else log10(number)


def _show_row(read: ThreatFile, space: Space, data: Dataset, number: int, *, as_json: bool) -> None:
    """What an attacker can do to one row and at what price."""
    places = (data.numbers == number).nonzero()
    if not len(places):
        raise InputError(f"expected the number of a row of the table, 0 to {int(data.numbers.max())}, got {number}.")
    x, _ = data.batch([int(places[0, 0])])
    rules, schema = read.rules, read.rules.schema
    moves = moves_of(rules, x, space.candidates(x))
    allowance = rules.allowance(x)
    broken = [name for name, mask in rules.breaks(x).items() if bool(mask[0])]
    if as_json:
        values = dict(zip((feature.name for feature in schema.features), schema.decode(x[0].tolist()), strict=True))
        worth = None if allowance is None else int(allowance[0])
        facts = [_move_facts(each, x[0].tolist(), schema) for each in moves]
        known = {"row": number, "values": values, "breaks": broken, "log10_size": _log10(size_of(moves))}
        print_json({**known, "worth": worth, "moves": facts})
        return
    say(f"row {number}: {plain(', '.join(schema.decode(x[0].tolist())))[:500]}")
    for name in broken:
        say(f"breaks {plain(name)} itself")
    size = size_of(moves)
    say("S(x): too large to list" if size is None else f"S(x): {_count(size)} rows, this one included")
    if not bool(RuledSpace(space, rules).candidates(x).changeable[0]):
        say("this row cannot be attacked: no change is allowed")
    if allowance is not None:
        say(f"worth attacking up to {plain(_amount(int(allowance[0]), rules.unit))}")
    table = Table("column", "is", "can become", "cheapest", "dearest", box=SIMPLE_HEAD)
    for each in moves:
        if not each.is_whole:
            table.add_row(plain(" + ".join(_names(each, schema))), "", "too many to list", "", "")
        elif len(each.ticks):
            table.add_row(*map(plain, _cells(each, x[0].tolist(), schema, rules.unit)))
    out.print(table)


def _cells(moves: Moves, own: list[int], schema: Schema, unit: Unit | None) -> tuple[str, ...]:
    """The cells of one line: the cheapest changes with their prices."""
    shown = [
        f"{_written(row, own, schema)} ({_amount(ticks, unit)})"
        for row, ticks in zip(moves.rows[:_MOST_MOVES].tolist(), moves.ticks[:_MOST_MOVES].tolist(), strict=True)
    ]
    more = len(moves.ticks) - len(shown)
    values = ", ".join(schema.features[column].categories[own[column]] for column in moves.columns)
    return (
        " + ".join(_names(moves, schema)),
        values,
        "; ".join(shown) + (f"; {more:,} more" if more else ""),
        _amount(int(moves.ticks[0]), unit),
        _amount(int(moves.ticks[-1]), unit),
    )


def _written(row: list[int], own: list[int], schema: Schema) -> str:
    """What a move writes: the value alone if one column changes."""
    changed = [(i, new) for i, (new, old) in enumerate(zip(row, own, strict=True)) if new != old]
    if len(changed) == 1:
        return schema.features[changed[0][0]].categories[changed[0][1]]
    return " & ".join(f"{schema.features[i].name} = {schema.features[i].categories[new]}" for i, new in changed)


def _move_facts(moves: Moves, own: list[int], schema: Schema) -> dict[str, Any]:
    cheapest = [
        {
            "ticks": ticks,
            "write": {
                schema.features[i].name: schema.features[i].categories[new]
                for i, (new, old) in enumerate(zip(row, own, strict=True))
                if new != old
            },
        }
        for row, ticks in zip(moves.rows[:_MOST_MOVES].tolist(), moves.ticks[:_MOST_MOVES].tolist(), strict=True)
    ]
    count = len(moves.ticks) if moves.is_whole else None
    return {"columns": list(_names(moves, schema)), "count": count, "cheapest": cheapest}


def _names(moves: Moves, schema: Schema) -> tuple[str, ...]:
    return tuple(schema.features[column].name for column in moves.columns)


def _amount(ticks: int | None, unit: Unit | None) -> str:
    if ticks is None:
        return "-"
    return unit.text(ticks) if unit is not None else f"{ticks} change{'s' if ticks != 1 else ''}"
