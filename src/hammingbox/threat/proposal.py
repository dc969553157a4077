"""`hammingbox threat propose`: rules that the rows keep, as commented lines of a threat.toml for the user to accept."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from keyword import iskeyword

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.mining.arithmetic import equal, orders, parts_of_dates, spans, sums
from hammingbox.threat.mining.dependencies import dependencies, joint_dependencies
from hammingbox.threat.mining.sample import Sample
from hammingbox.threat.mining.tables import absent_combinations, one_hot_groups
from hammingbox.threat.rules.relation import Relation
from hammingbox.threat.threat_file import kept_by
from hammingbox.threat.threat_relations import relation_of

LEAST = 0.99
"""The share of the rows that must keep a proposed rule."""
MOST = 60
"""Proposals of each kind; more would be read by nobody."""

_HEADER = """\
## Rules that the rows of {name} keep, found in {rows:,} rows. None of them is active: read each one, and accept it by
## deleting the "# " at the start of its lines. A rule that the data keeps by chance takes real attacks away.
## Whether the accepted rules fit: hammingbox threat check TABLE threat.toml
##
## What only you know goes above them: unit, currency, budgets, [columns.NAME] with prices and directions, [gain].
"""


@dataclass(frozen=True)
class Proposed:
    """A rule that the data keeps.

    Attributes:
        entry: of the file, as it would be read.
        relation: what it means.
        kept: how many rows keep it.
        rows: of how many.
        note: what else is to be said about it.
    """

    entry: dict[str, object]
    relation: Relation
    kept: int
    rows: int
    note: str = ""


@dataclass(frozen=True)
class Proposal:
    """What was found in a table.

    Attributes:
        rules: in the order of the file.
        left_out: how many more candidates there were, by section.
        text: the file.
    """

    rules: tuple[Proposed, ...]
    left_out: dict[str, int]
    text: str


def propose(data: Dataset, *, least: float = LEAST) -> Proposal:
    """Finds dependencies, orders, sums, combinations and one-hot groups.

    Candidates come from a sample of the rows; what is proposed was checked on all of them.

    Args:
        data: the rows.
        least: the share of the rows that must keep a rule.

    Raises:
        InputError: fewer than two rows, or a share that is none.
    """
    if not 0.5 <= least <= 1:
        raise InputError(f"expected a share of the rows between 0.5 and 1, got {least}.")
    if len(data) < 2:
        raise InputError(f"expected at least two rows to find rules in, got {len(data)}.")
    sample = Sample.of(data, least)
    lines = [_HEADER.format(name=data.name, rows=len(data))]
    rules: list[Proposed] = []
    left_out: dict[str, int] = {}
    explained: set[frozenset[int]] = set()
    for title, entries in _sections(sample, data, explained):
        checked = [found for entry, note in entries[:MOST] if (found := _checked(entry, note, data, least))]
        explained |= {frozenset(rule.relation.columns) for rule in checked}
        left_out[title] = max(0, len(entries) - MOST)
        lines.append(_section(title, checked, left_out[title]))
        rules += checked
    return Proposal(tuple(rules), left_out, "".join(lines))


Entries = list[tuple[dict[str, object], str]]


def _sections(sample: Sample, data: Dataset, explained: set[frozenset[int]]) -> Iterator[tuple[str, Entries]]:
    """The sections of the file with their candidates.

    `explained` grows between them: columns that an earlier rule names together need no weaker rule.
    """
    schema = sample.schema
    name, quoted = _names(schema), _quoted(schema)

    def is_new(*columns: int) -> bool:
        return not any(known.issuperset(columns) for known in explained)

    groups: Entries = [
        ({"kind": "one_hot", "columns": [name[c] for c in group]}, "") for group in one_hot_groups(sample)
    ]
    yield "Exactly one of these columns is on", groups
    computed = [f"{quoted[a]} == {quoted[b]}" for a, b in equal(sample)]
    computed += [f"{quoted[c]} == {quoted[a]} {sign} {quoted[b]}" for c, sign, a, b in sums(sample)]
    computed += [f"{quoted[c]} == {part}({quoted[date]})" for c, part, date in parts_of_dates(sample)]
    computed += [f"{quoted[c]} == days({quoted[b]}) - days({quoted[a]})" for c, b, a in spans(sample)]
    hint = "a column that you would rather have computed goes into [[derived]], with column and formula"
    yield "Sums, products and parts of dates", [({"kind": "formula", "formula": text}, hint) for text in computed]
    single = [(a, b) for a, b in dependencies(sample) if is_new(a, b)]
    yield "One column decides another", [(_decided([name[a]], name[b]), "") for a, b in single]
    joint = [(a, b, c) for a, b, c in joint_dependencies(sample) if is_new(a, b, c)]
    yield "Two columns decide a third", [(_decided([name[a], name[b]], name[c]), "") for a, b, c in joint]
    # A sum does not say that its parts are not negative, so an order beside it is a rule of its own.
    ordered = [f"{quoted[a]} <= {quoted[b]}" for a, b in orders(sample) if frozenset((a, b)) not in explained]
    yield "One column is never larger than another", [({"kind": "formula", "formula": text}, "") for text in ordered]
    absent = [found for found in absent_combinations(data) if is_new(*found[:2])]
    yield (
        "Combinations that no row has, though chance would give them many",
        [
            (
                {"kind": "combinations", "columns": [name[a], name[b]], "allowed": "data"},
                f"{seen:,} of {possible:,} combinations occur",
            )
            for a, b, seen, possible in absent
        ],
    )


def _decided(by: list[str], column: str) -> dict[str, object]:
    return {"kind": "determines", "by": by, "column": column, "table": "data"}


def _checked(entry: dict[str, object], note: str, data: Dataset, least: float) -> Proposed | None:
    """A candidate that enough of all rows keep."""
    relation = relation_of(entry, data.schema, data, {})
    kept = int(kept_by(relation, data).sum())
    return Proposed(entry, relation, kept, len(data), note) if kept >= least * len(data) else None


def _section(title: str, rules: Sequence[Proposed], left_out: int) -> str:
    if not rules:
        return f"##\n## {title}: none found.\n"
    lines = ["##", f"## {title}"]
    for rule in rules:
        broken = rule.rows - rule.kept
        support = f"kept by {rule.kept:,} of {rule.rows:,} rows ({100 * rule.kept / rule.rows:.2f} %)"
        lines += [
            "##",
            f"## {support}{f', {broken:,} break it' if broken else ''}{f'; {rule.note}' if rule.note else ''}",
            "# [[relations]]",
            *(f"# {key} = {_toml(value)}" for key, value in rule.entry.items()),
        ]
    if left_out:
        lines.append(f"## {left_out:,} more candidates were not looked at.")
    return "\n".join(lines) + "\n"


def _names(schema: Schema) -> list[str]:
    return [feature.name for feature in schema.features]


def _quoted(schema: Schema) -> list[str]:
    """The names of columns as formulas write them."""
    return [
        name
        if name.isidentifier() and name.isascii() and not iskeyword(name) and name not in ("true", "false")
        else f"col[{json.dumps(name)}]"
        for name in _names(schema)
    ]


def _toml(value: object) -> str:
    """A text or a list on one line: JSON, but for one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
