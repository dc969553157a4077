"""On which line of a TOML file an entry stands: Python's parser does not say."""

import tomllib
from collections import Counter
from typing import Any

Path = tuple[str | int, ...]
"""Where an entry is: names of tables, numbers of array elements, the key."""

_QUOTES = ('"""', "'''", '"', "'")


class TomlLines:
    """Lines of the entries of a TOML file.

    Only what starts a line is known: tables and their keys. What stands inside a value is on the line of its key.

    Args:
        text: a TOML document that Python's parser accepts.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {(): 1}
        table: Path = ()
        arrays: Counter[Path] = Counter()
        for number, line in _statements(text):
            if line.startswith("["):
                is_array = line.startswith("[[")
                keys = _keys_of(line[: _end_of(line)])
                # A table inside an element of an array belongs to its last element.
                table = ()
                for depth, key in enumerate(keys, 1):
                    table = (*table, key)
                    if is_array and depth == len(keys):
                        arrays[table] += 1
                    if arrays[table]:
                        table = (*table, arrays[table] - 1)
                self._lines.setdefault(table, number)
            elif "=" in line:
                self._lines.setdefault((*table, *_keys_of(line[: _end_of(line)])), number)

    def of(self, *path: str | int) -> int:
        """The line of an entry, counted from 1; that of the innermost entry around it if it has none of its own."""
        for length in range(len(path), -1, -1):
            if path[:length] in self._lines:
                return self._lines[path[:length]]
        return 1


def _statements(text: str) -> list[tuple[int, str]]:
    """The lines that start a statement, with their numbers: neither blank nor a comment nor inside a value."""
    found = []
    depth, quote = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not depth and not quote and stripped and not stripped.startswith("#"):
            found.append((number, stripped))
        is_header = not depth and not quote and stripped.startswith("[")
        new_depth, quote = _scan(line, depth, quote)
        depth = 0 if is_header else max(0, new_depth)
    return found


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets are open at the end of a line, and the quotes of a text that goes on after it."""
    place = 0
    while place < len(line):
        if quote:
            if line[place] == "\\" and quote[0] == '"':
                place += 2
            elif line.startswith(quote, place):
                place += len(quote)
                quote = ""
            else:
                place += 1
            continue
        opened = next((mark for mark in _QUOTES if line.startswith(mark, place)), "")
        if opened:
            quote, place = opened, place + len(opened)
            continue
        if line[place] == "#":
            break
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(line[place], 0)
        place += 1
    return depth, quote if len(quote) == 3 else ""


def _end_of(line: str) -> int:
    """Where the key of a statement ends: before the first `=` outside quotes, or after the brackets of a header."""
    quote, place = "", 0
    while place < len(line):
        letter = line[place]
        if quote:
            place += letter == "\\" and quote == '"'
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "=" and not line.startswith("["):
            return place
        elif letter == "]" and line.startswith("["):
            return place + (2 if line.startswith("[[") else 1)
        place += 1
    return len(line)


def _keys_of(key: str) -> tuple[str, ...]:
    """The parts of a key or of a header, as Python's parser reads them."""
    try:
        value: Any = tomllib.loads(key if key.startswith("[") else f"{key} = {{}}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return (key.strip("[] "),)
    keys: list[str] = []
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        keys.append(name)
        value = value[0] if isinstance(value, list) else value
    return tuple(keys)
