"""schema.toml: the schema of a user's table as a file that can be edited."""

import json
from collections.abc import Mapping
from datetime import date
from math import inf, isfinite
from pathlib import Path
from typing import Any, NewType

from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.table_schema import TableSchema
from hammingbox.data.values import MISSING, UNKNOWN, text_of
from hammingbox.errors import FileError, HammingboxError, unknown_name
from hammingbox.files import read_toml, write_bytes

_HEADER = f"""\
# What hammingbox knows about this table. Edit it, then pass it as --schema.
#   label, classes   the column to predict, and its classes
#   unknown          "error" rejects values that are not listed below, "category" turns them into {UNKNOWN}
#   columns          the columns that are read, in this order; delete a line to leave its column out
#     kind           "category", "number", "date" or "boolean"
#     candidates     what an attacker may write: "observed" (every value), "quantiles:10" (of numbers and dates, from
#                    the smallest to the largest), "frequent:20", or a list of values
#     steps          what an attacker may add to a number, such as [-1, 1]; days for a date
#     sentinels      codes for "not known", such as ["-1"]: kept as they are, but no candidates
#     categories     the values a category column may hold; without it they come from the file
#     bins           edges that cut a column of numbers into categories
#     missing        true if empty cells are allowed; they become the category {MISSING}
#     immutable      true if an attacker cannot change this column
#     forbidden      values that an attacker cannot write

"""
Value = NewType("Value", str)
"""A value of a column, which the file may write as a text, a number, a date or true and false."""
_TABLE: dict[str, Any] = {"label": str, "classes": str, "unknown": str, "columns": dict}
_COLUMN: dict[str, Any] = {
    "name": str,
    "kind": str,
    "candidates": Value,
    "steps": float,
    "sentinels": Value,
    "categories": str,
    "bins": float,
    "missing": bool,
    "immutable": bool,
    "forbidden": Value,
}
"""The entries of the file and of a column with the type of their values; for a list, the type of its items."""
_LISTS = {"classes", "columns", "categories", "bins", "forbidden", "steps", "sentinels"}
_LIST_OR_WORD = {"candidates"}
_KINDS: dict[Any, tuple[type, ...]] = {
    str: (str,), dict: (dict,), bool: (bool,), float: (int, float), Value: (str, bool, int, float, date),
}  # fmt: skip
_WORDS: dict[Any, str] = {
    str: "quoted strings", dict: "tables", bool: "true or false", float: "numbers", Value: "values",
}  # fmt: skip
_DEFAULTS = ColumnRules("")
_ALWAYS = ("name", "kind")


def write_schema(schema: TableSchema, path: Path) -> None:
    """Writes a schema.toml, with a header that explains it: what is stated, not what the rows hold."""
    columns = [
        {
            key: _plain(getattr(column, key))
            for key in _COLUMN
            if key in _ALWAYS or getattr(column, key) != getattr(_DEFAULTS, key)
        }
        for column in schema.columns
    ]
    head = {"label": schema.label, "classes": list(schema.classes or ()), "unknown": schema.unknown}
    lines = [
        *(f"{key} = {_toml(value)}" for key, value in head.items()),
        "columns = [",
        *(f"    {{ {', '.join(f'{key} = {_toml(value)}' for key, value in column.items())} }}," for column in columns),
        "]",
    ]
    write_bytes(path, (_HEADER + "\n".join(lines) + "\n").encode())


def read_schema(path: Path) -> TableSchema:
    """Reads a schema.toml.

    Raises:
        FileError: it is missing, is not TOML, or has unknown or invalid entries.
    """
    value = read_toml(path)
    try:
        head = _checked(value, _TABLE, ("label", "columns"))
        columns = tuple(ColumnRules(**_checked(entry, _COLUMN, ("name",))) for entry in head["columns"])
        return TableSchema(**{**head, "columns": columns, "classes": head.get("classes") or None})
    except HammingboxError as error:
        raise FileError(f"{path}: {error}") from error


def _checked(value: Mapping[str, Any], known: Mapping[str, Any], needed: tuple[str, ...]) -> dict[str, Any]:
    """The entries of a TOML table, with lists as tuples, after their names and types were checked."""
    for key in needed:
        if key not in value:
            raise FileError(f"expected the entry {key!r}, got {', '.join(value) or 'none'}. Add it.")
    checked = {}
    for key, content in value.items():
        if key not in known:
            raise unknown_name("entry", key, known)
        parts = content if isinstance(content, list) else [content]
        is_list = isinstance(content, list)
        kinds = _KINDS[known[key]]
        if (is_list != (key in _LISTS) and key not in _LIST_OR_WORD) or not all(_fits(part, kinds) for part in parts):
            wanted = "a list of " * (key in _LISTS) + _WORDS[known[key]]
            raise FileError(f"expected {wanted} for {key!r}, got {content!r:.200}.")
        parts = [_finite(part, key) for part in parts] if known[key] is float else parts
        parts = [_text(part, key) for part in parts] if known[key] is Value else parts
        checked[key] = tuple(parts) if is_list else parts[0]
    return checked


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value has a type; true and false are no numbers."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _finite(number: int | float, key: str) -> float:
    try:
        found = float(number)
    except OverflowError:
        found = inf
    if not isfinite(found):
        raise FileError(f"expected finite numbers for {key!r}, got one that is not a number or too large.")
    return found


def _text(value: Any, key: str) -> str:
    """A value of a column as a text, however the file writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return text_of(_finite(value, key), "number")
    return value if isinstance(value, str) else str(value)


def _toml(value: Any) -> str:
    """A text, a number, a truth or a list on one line: JSON, but for one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
