"""[columns.NAME] and positions of a threat.toml: one rule for each column, by name or by pattern."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError, did_you_mean
from hammingbox.threat.error_lines import ErrorLines
from hammingbox.threat.rules.limits import Limits
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.tariff import Tariff
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.threat_entries import (
    COLUMN,
    OPEN,
    check_keys,
    decimal_in,
    price_of,
    text_in,
    text_in_column,
    texts_in_columns,
    whole_in,
)

_MARKS = "*?["


def column_rules(
    lines: ErrorLines, value: Mapping[str, Any], schema: Schema, unit: Unit | None, derived: set[int]
) -> tuple[ColumnRule, ...]:
    """The rules of all columns that the file names, in the order of the schema.

    Raises:
        FileError: an unknown column, a rule that does not fit its column, or two rules for one column.
    """
    tables = value.get("columns", {})
    if not isinstance(tables, Mapping):
        raise InputError(f"expected columns as tables, [columns.NAME] for each, got {tables!r:.80}.")
    free = _positions(lines, value, schema)
    entries = {name: _Entry(lines, name, tables[name], unit) for name in tables}
    by_name = {feature.name: index for index, feature in enumerate(schema.features)}
    matched = {name: [by_name[name]] if name in by_name else _matching(lines, name, schema) for name in tables}
    rules: dict[int, ColumnRule] = {}
    for index, feature in enumerate(schema.features):
        own = [name for name in tables if index in matched[name]]
        name = _most_exact(lines, own, feature.name)
        if index in derived:
            if feature.name in tables:
                with lines.at("columns", feature.name):
                    raise InputError(
                        f"expected no price and no limits for the derived column {feature.name!r}, got some. "
                        "Delete them: a derived column costs nothing."
                    )
            continue
        if free is not None and index not in free:
            if name == feature.name and not entries[name].is_frozen:
                with lines.at("columns", name):
                    raise InputError(
                        f"expected a rule for a position that may change, got one for {name!r}, which positions leaves "
                        "out. Add it there, or delete the rule."
                    )
            rules[index] = ColumnRule(feature.name, frozen=True)
        elif name is not None:
            rules[index] = entries[name].rule(feature)
    return tuple(rules[index] for index in sorted(rules))


class _Entry:
    """One [columns.NAME]."""

    def __init__(self, lines: ErrorLines, name: str, table: Any, unit: Unit | None) -> None:
        self._lines, self._name, self._unit = lines, name, unit
        with lines.at("columns", name):
            if not isinstance(table, Mapping):
                raise InputError(f"expected [columns.{name}] with its entries below, got {table!r:.80}.")
        for key in table:
            with lines.at("columns", name, key):
                check_keys({key: None}, COLUMN, f"[columns.{name}]")
        self._table = table
        self._parts = {key: self._part(key) for key in table}
        self._checked: set[Any] = set()

    @property
    def is_frozen(self) -> bool:
        """Whether it only says that the column never changes."""
        return bool(self._table.get("frozen"))

    def rule(self, feature: Feature) -> ColumnRule:
        """The rule of one column that the name stands for."""
        parts = dict(self._parts)
        limits = {key: parts.pop(key) for key in list(parts) if key in Limits.__dataclass_fields__}
        with self._lines.at("columns", self._name):
            rule = ColumnRule(feature.name, limits=Limits(**limits), **parts)
            # Positions of a text share one vocabulary, which is checked once.
            kind = (id(feature.categories), feature.kind)
            if kind not in self._checked:
                Tariff(rule, feature, priced=self._unit is not None)
                self._checked.add(kind)
            return rule

    def _part(self, key: str) -> Any:
        value = self._table[key]
        with self._lines.at("columns", self._name, key):
            if key in ("price", "up", "down"):
                return price_of(value, self._unit)
            if key == "write":
                table = check_keys(value, list(value) if isinstance(value, Mapping) else [], "write")
                return {text: price_of(price, self._unit) for text, price in table.items()}
            if key == "pairs":
                return self._pairs(value)
            if key == "order":
                return tuple(texts_in_columns(value, "order"))
            if key == "direction":
                return text_in(value, "direction")
            if key == "most_steps":
                return whole_in(value, "most_steps")
            if key == "frozen":
                if value is not True:
                    raise InputError(
                        f"expected frozen = true, got {value!r:.80}. Delete it for a column that may change."
                    )
                return True
            if key == "range":
                return _range(value)
            if key == "window":
                days = [value, value] if type(value) is int else value
                if not isinstance(days, list) or len(days) != 2 or not all(type(d) is int for d in days):
                    raise InputError(f"expected window as days, such as 7 or [3, 7], got {value!r:.80}.")
                return tuple(days)
            return decimal_in(value, key)

    def _pairs(self, value: Any) -> tuple[tuple[str, str, int], ...]:
        if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 3 for pair in value):
            raise InputError(f"expected pairs as a list of [from, to, price], got {value!r:.80}.")
        return tuple((text_in_column(own), text_in_column(to), price_of(price, self._unit)) for own, to, price in value)


def _range(value: Any) -> tuple[str | None, str | None]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f'expected range as [low, high], "*" for an open end, got {value!r:.80}.')
    low, high = (None if bound == OPEN else text_in_column(bound) for bound in value)
    return low, high


def _matching(lines: ErrorLines, pattern: str, schema: Schema) -> list[int]:
    """The columns that a pattern stands for.

    Raises:
        FileError: none.
    """
    found = [i for i, feature in enumerate(schema.features) if fnmatchcase(feature.name, pattern)]
    if not found:
        names = [feature.name for feature in schema.features]
        with lines.at("columns", pattern):
            wanted = (
                "a pattern that some column matches" if any(m in pattern for m in _MARKS) else "a column of the table"
            )
            raise InputError(
                f"expected {wanted} ({', '.join(names[:12])}{', ...' if len(names) > 12 else ''}), "
                f"got {pattern!r:.80}.{did_you_mean(pattern, names)}"
            )
    return found


def _most_exact(lines: ErrorLines, names: list[str], column: str) -> str | None:
    """The name that counts for a column: its own, else the pattern with most letters.

    Raises:
        FileError: two patterns with equally many letters.
    """
    if not names or column in names:
        return column if names else None
    by_letters = sorted(names, key=lambda name: -len(re.sub(r"[*?\[\]]", "", name)))
    if len(names) > 1 and len({len(re.sub(r"[*?\[\]]", "", name)) for name in by_letters[:2]}) == 1:
        with lines.at("columns", by_letters[1]):
            raise InputError(
                f"expected one rule for column {column!r}, got {by_letters[0]!r} and {by_letters[1]!r}. "
                "Name the column itself, or make one pattern longer."
            )
    return by_letters[0]


def _positions(lines: ErrorLines, value: Mapping[str, Any], schema: Schema) -> set[int] | None:
    """The positions that may change, counted from 0; None if the file does not say.

    Raises:
        FileError: it is not of the form "1-10, 15", or beyond the last position.
    """
    if "positions" not in value:
        return None
    with lines.at("positions"):
        text, most = value["positions"], len(schema.features)
        free: set[int] = set()
        for part in text.split(",") if isinstance(text, str) else [""]:
            match = re.fullmatch(r"\s*(\d{1,7})(?:\s*-\s*(\d{1,7}))?\s*", part, re.ASCII)
            first = int(match[1]) if match else 0
            last = int(match[2] or first) if match else 0
            if not 1 <= first <= last <= most:
                raise InputError(f'expected positions between 1 and {most}, such as "1-10, 15", got {text!r:.80}.')
            free |= set(range(first - 1, last))
        return free
