"""threat.toml: what an attacker may do, as a file that an auditor can write. One error says its file and its line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.files import read_toml
from hammingbox.threat.error_lines import ErrorLines
from hammingbox.threat.rules.derived import Derived, in_order
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.function import Keeps
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.relation import Relation
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.threat_columns import column_rules
from hammingbox.threat.threat_entries import (
    DERIVED,
    GAIN,
    TOP,
    amount_of,
    check_keys,
    names_in,
    share_in,
    text_in,
    whole_in,
)
from hammingbox.threat.threat_relations import relation_of, table_of

_CHUNK = 100_000
"""Rows that are checked together."""


@dataclass(frozen=True)
class ThreatFile:
    """What a threat.toml says.

    Attributes:
        rules: prices, limits, relations, derived columns and gains.
        budgets: what an attacker may spend, in ticks (in changes without a unit), in increasing order; may be empty.
        source: the file.
    """

    rules: Rules
    budgets: tuple[int, ...]
    source: str


def read_threat(
    path: Path | str, schema: Schema, data: Dataset | None = None, *, functions: Mapping[str, Keeps] | None = None
) -> ThreatFile:
    """Reads a threat.toml and checks it against a table.

    Args:
        path: of the file.
        schema: of the table.
        data: rows that decide what `table = "data"` and `allowed = "data"` mean, and that rules are checked against;
            best the training rows.
        functions: the code of functions of one's own, by name. The file alone never runs code.

    Raises:
        FileError: the file is missing or not TOML; or a line of it is wrong, contradicts another, or does not fit the
            table. The message has the file, the line and the remedy.
    """
    source = Path(path)
    value = read_toml(source, parse_float=Decimal)
    return _Reader(source, value, schema, data, functions or {}).read()


class _Reader:
    """Reads one file; every part is built inside `ErrorLines.at`, which adds its line to whatever error it raises."""

    def __init__(
        self,
        source: Path,
        value: Mapping[str, Any],
        schema: Schema,
        data: Dataset | None,
        functions: Mapping[str, Keeps],
    ) -> None:
        self._source, self._value, self._schema = source, value, schema
        self._lines = ErrorLines(source)
        self._data, self._functions = data, functions

    def read(self) -> ThreatFile:
        """All entries."""
        value = self._value
        for key in value:
            with self._lines.at(key):
                check_keys({key: None}, TOP, "threat.toml")
        unit = self._unit()
        derived = self._derived()
        with self._lines.at("columns"):
            columns = column_rules(self._lines, value, self._schema, unit, {each.column for each in derived})
        relations = self._relations()
        gain = self._gain(unit)
        self._check_every_column(columns, derived, unit)
        with self._lines.at("changes"):
            changes = whole_in(value["changes"], "changes") if "changes" in value else None
        with self._lines.at():
            rules = Rules(self._schema, unit, columns, relations, derived, gain, changes)
        return ThreatFile(rules, self._budgets(unit), str(self._source))

    def _unit(self) -> Unit | None:
        with self._lines.at("currency"):
            currency = text_in(self._value.get("currency", ""), "currency")
            if currency and "unit" not in self._value:
                raise InputError('expected a unit with the currency, got none. Add unit = "0.1".')
        with self._lines.at("unit"):
            return Unit.of(self._value["unit"], currency) if "unit" in self._value else None

    def _budgets(self, unit: Unit | None) -> tuple[int, ...]:
        with self._lines.at("budgets"):
            stated = self._value.get("budgets", [])
            listed = stated if isinstance(stated, list) else [stated]
            budgets = [whole_in(b, "budgets without a unit") if unit is None else amount_of(b, unit) for b in listed]
            if len(set(budgets)) < len(budgets):
                raise InputError("expected distinct budgets, got one twice. Delete it.")
            return tuple(sorted(budgets))

    def _gain(self, unit: Unit | None) -> Gain | None:
        if "gain" not in self._value:
            return None
        with self._lines.at("gain"):
            entries = check_keys(self._value["gain"], GAIN, "[gain]")
        with self._lines.at("gain", "margin"):
            margin = amount_of(entries["margin"], unit) if "margin" in entries else 0
        with self._lines.at("gain", "value"):
            value = amount_of(entries["value"], unit) if "value" in entries else None
        with self._lines.at("gain", "column"):
            column = text_in(entries["column"], "column") if "column" in entries else None
            gain = Gain(column, value, margin)
            if unit is None:
                raise InputError('expected a unit for the gain, got none. Add unit = "0.1" at the top.')
            gain.table(self._schema, unit)
            return gain

    def _check_every_column(
        self, columns: tuple[ColumnRule, ...], derived: tuple[Derived, ...], unit: Unit | None
    ) -> None:
        """Checks that no price is missing."""
        if unit is None:
            return
        named = {rule.column for rule in columns} | {self._schema.features[each.column].name for each in derived}
        lost = [feature.name for feature in self._schema.features if feature.name not in named]
        if lost:
            with self._lines.at("columns" if "columns" in self._value else "unit"):
                raise InputError(
                    f"expected a price for every column, got none for {lost[0]!r}"
                    f"{f' and {len(lost) - 1} more' if len(lost) > 1 else ''}. "
                    'Price it, or add [columns."*"] with frozen = true for all columns that are not named.'
                )

    def _entries(self, name: str) -> list[Any]:
        with self._lines.at(name):
            listed = self._value.get(name, [])
            if not isinstance(listed, list):
                raise InputError(f"expected [[{name}]], one for each, got {listed!r:.80}.")
            return listed

    def _relations(self) -> tuple[Relation, ...]:
        found: list[Relation] = []
        kept: Bool[Tensor, "rows"] | None = None
        for place, entry in enumerate(self._entries("relations")):
            with self._lines.at("relations", place):
                relation = relation_of(entry, self._schema, self._data, self._functions)
                if any(relation.name == other.name for other in found):
                    raise InputError(
                        f"expected each relation once, got {relation.name!r:.80} twice. Delete or name one."
                    )
                found.append(relation)
                kept = self._check_kept(relation, share_in(entry.get("agree", 0), "agree"), kept, len(found) > 1)
        return tuple(found)

    def _check_kept(
        self, relation: Relation, least: float, before: Bool[Tensor, "rows"] | None, is_later: bool
    ) -> Bool[Tensor, "rows"] | None:
        """Which rows keep this relation and those before it.

        Raises:
            InputError: none, or fewer than the file asks for.
        """
        if self._data is None or not len(self._data):
            return None
        kept = kept_by(relation, self._data)
        rows, agree = len(kept), int(kept.sum())
        if agree == 0 or agree < least * rows:
            raise InputError(
                f"expected a rule that {f'{least:.4g} of the rows keep' if agree else 'some row keeps'}, got "
                f"{relation.name!r:.120}, which {agree:,} of {rows:,} rows keep. Correct the rule or the data."
            )
        both = kept if before is None else kept & before
        if is_later and not both.any():
            raise InputError(
                f"expected relations that do not contradict each other, got {relation.name!r:.120}: no row keeps it "
                "and all relations above it. Delete one of them."
            )
        return both

    def _derived(self) -> tuple[Derived, ...]:
        found: list[Derived] = []
        for place, entry in enumerate(self._entries("derived")):
            with self._lines.at("derived", place):
                entries = check_keys(entry, DERIVED, "[[derived]]")
                column = text_in(entries.get("column"), "column of a derived column")
                self._schema.feature_index(column)
                found.append(self._one_derived(column, entries))
                in_order(found, self._schema)
                self._check_derived(found[-1], share_in(entries.get("agree", 1), "agree"))
        return in_order(found, self._schema)

    def _one_derived(self, column: str, entries: Mapping[str, Any]) -> Derived:
        if "formula" in entries:
            if "by" in entries or "table" in entries:
                raise InputError(f"expected a formula or a table for the derived column {column!r}, got both.")
            return Derived(self._schema, column, formula=text_in(entries["formula"], "formula"))
        if "by" not in entries:
            raise InputError(
                f"expected what the derived column {column!r} follows from, got neither. "
                'Add formula = "...", or by = [...] for a table from the data.'
            )
        by = names_in(entries["by"], "by")
        table: Determines = table_of(self._schema, by, column, entries.get("table", "data"), self._data, "")
        return Derived(self._schema, column, table=table)

    def _check_derived(self, derived: Derived, least: float) -> None:
        """Checks that the data has what the formula says.

        Raises:
            InputError: it has not, in more rows than the file allows.
        """
        if self._data is None or not len(self._data):
            return
        wrong = [
            first + row
            for first, ids in _chunks(self._data)
            for row in (derived.compute(ids[:, list(derived.inputs)]) != ids[:, derived.column])
            .nonzero()[:, 0]
            .tolist()
        ]
        rows = len(self._data)
        if rows - len(wrong) < least * rows:
            example = self._data.ids[wrong[0]].tolist()
            feature = self._schema.features[derived.column]
            raise InputError(
                f"expected the derived column {feature.name!r} to be {derived.text}, got another value in "
                f"{len(wrong):,} of {rows:,} rows, such as {feature.categories[example[derived.column]]!r:.40} in row "
                f"{int(self._data.numbers[wrong[0]])}. Correct the formula or the data, or say which share of the rows "
                f"must agree: agree = {max(0.0, (rows - len(wrong)) / rows - 5e-5):.4f}."
            )


def kept_by(relation: Relation, data: Dataset) -> Bool[Tensor, "rows"]:
    """Which rows of the data keep a relation."""
    columns = list(relation.columns)
    parts = [relation.holds(ids[:, columns], ids[:, columns]) for _, ids in _chunks(data)]
    return torch.cat(parts)


def _chunks(data: Dataset) -> Iterator[tuple[int, Tensor]]:
    for first in range(0, len(data), _CHUNK):
        yield first, data.batch(slice(first, first + _CHUNK))[0]
