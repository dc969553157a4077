"""The form of a result file: its header and its lines are checked before anything is made of them."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hammingbox.errors import FileError
from hammingbox.files import shown
from hammingbox.threat.goal import check_goal_document
from hammingbox.threat.space_json import check_space_document

_TEXTS = ("data", "data_sha256", "victim", "victim_sha256", "rows_file", "rows_sha256")


def checked_header(header: Any, path: Path, *, formats: Sequence[int]) -> dict[str, Any]:
    """The header of a result file.

    Args:
        header: as JSON gave it.
        path: of the file, for messages.
        formats: the formats that can be read, the current one last.

    Raises:
        FileError: it is of another format, or an entry is missing or has another type.
    """
    found = header.get("format") if isinstance(header, dict) else type(header).__name__
    if not isinstance(header, dict) or type(found) is not int or found not in formats:
        known = " or ".join(map(str, formats))
        raise FileError(
            f"expected a result header of format {known} in {shown(path)}, got {found!r:.80}. "
            "Use the version that wrote it."
        )
    for name in _TEXTS:
        if not isinstance(header.get(name), str):
            raise _damaged(path, name)
    if Path(header["rows_file"]).name != header["rows_file"]:
        raise _damaged(path, "rows_file")
    summary = header.get("summary")
    if not isinstance(summary, Mapping) or not _is_count(summary.get("budget")):
        raise _damaged(path, "summary")
    if not isinstance(header.get("versions"), Mapping):
        raise _damaged(path, "versions")
    if summary.get("success") is not None and not _is_count(summary["success"]):
        raise _damaged(path, "success")
    check_space_document(header.get("space"))
    if found > 1:  # the first format had targets instead
        check_goal_document(header.get("goal"))
    return header


def read_lines(content: bytes, names: Sequence[str]) -> list[list[str]]:
    """The lines of rows below the line of their names.

    Raises:
        ValueError: other names, or a line with another number of fields.
        csv.Error: quotes that do not match.
    """
    reader = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    if next(reader, None) != list(names):
        raise ValueError("other columns than the header's schema has")
    lines = list(reader)
    for number, line in enumerate(lines, 2):
        if len(line) != len(names):
            raise ValueError(f"{len(line)} fields in line {number}, not {len(names)}")
    return lines


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _damaged(path: Path, entry: str) -> FileError:
    return FileError(f"expected the entry {entry!r} of a result header in {shown(path)}, got none or a damaged one.")
