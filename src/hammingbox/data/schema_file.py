"""schema.toml: the schema of a user's table as a file that can be edited."""

from collections.abc import Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any

import tomli_w

from hammingbox.data.table_schema import MISSING, UNKNOWN, ColumnRules, TableSchema
from hammingbox.errors import FileError, HammingboxError, unknown_name
from hammingbox.files import read_toml, write_bytes

_HEADER = f"""\
# What hammingbox knows about this table. Edit it, then pass it as --schema.
#   label, classes   the column to predict, and its classes
#   unknown          "error" rejects values that are not listed below, "category" turns them into {UNKNOWN}
#   [[columns]]      the columns that are read, in this order; delete one to leave it out
#     categories     the values it may hold (delete the line to take them from the file again), or
#     bins           the edges that cut a column of numbers into categories
#     missing        true if empty cells are allowed; they become the category {MISSING}
#     immutable      true if an attacker cannot change this column
#     forbidden      categories that an attacker cannot write

"""
_TABLE: dict[str, type] = {"label": str, "classes": str, "unknown": str, "columns": dict}
_COLUMN: dict[str, type] = {
    "name": str,
    "categories": str,
    "bins": float,
    "missing": bool,
    "immutable": bool,
    "forbidden": str,
}
"""The entries of the file and of a column with the type of their values; for a list, the type of its items."""
_LISTS = {"classes", "columns", "categories", "bins", "forbidden"}


def write_schema(schema: TableSchema, path: Path) -> None:
    """Writes a schema.toml, with a header that explains it."""
    entries = ({key: getattr(column, key) for key in _COLUMN} for column in schema.columns)
    columns = [{key: _plain(value) for key, value in entry.items() if value is not None} for entry in entries]
    head = {"label": schema.label, "classes": list(schema.classes or ()), "unknown": schema.unknown}
    write_bytes(path, (_HEADER + tomli_w.dumps({**head, "columns": columns})).encode())


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


def _checked(value: Mapping[str, Any], known: Mapping[str, type], needed: tuple[str, ...]) -> dict[str, Any]:
    """The entries of a TOML table, with lists as tuples, after their names and types were checked."""
    for key in needed:
        if key not in value:
            raise FileError(f"expected the entry {key!r}, got {', '.join(value) or 'none'}. Add it.")
    checked = {}
    for key, content in value.items():
        if key not in known:
            raise unknown_name("entry", key, known)
        parts = content if isinstance(content, list) else [content]
        kinds = (int, float) if known[key] is float else known[key]
        if isinstance(content, list) != (key in _LISTS) or not all(_fits(part, kinds) for part in parts):
            kind = "numbers" if known[key] is float else "quoted strings" if known[key] is str else "true or false"
            raise FileError(f"expected {'a list of ' * (key in _LISTS)}{kind} for {key!r}, got {content!r:.200}.")
        numbers = [_edge(part) for part in parts] if known[key] is float else parts
        checked[key] = tuple(numbers) if key in _LISTS else content
    return checked


def _fits(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """Whether a value has a type; true and false are no numbers."""
    return isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool))


def _edge(number: int | float) -> float:
    try:
        edge = float(number)
    except OverflowError:
        edge = inf
    if not isfinite(edge):
        raise FileError("expected finite numbers for 'bins', got one that is not a number or too large.")
    return edge


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
