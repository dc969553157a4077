"""The header of a result file: every entry that is missing or of another type is named."""

from pathlib import Path
from typing import Any

import pytest

from hammingbox.errors import FileError
from hammingbox.evaluation.result_form import checked_header, read_lines

WHOLE: dict[str, Any] = {
    "format": 3, "data": "d", "data_sha256": "a", "victim": "", "victim_sha256": "b", "rows_file": "rows.csv",
    "rows_sha256": "c", "summary": {"budget": 0, "success": 0}, "versions": {}, "space": {"kind": "full"},
    "goal": {"kind": "any_other"},
}  # fmt: skip

NO_SUMMARIES: tuple[Any, ...] = (
    ..., [], {}, {"budget": -1}, {"budget": 2**62}, {"budget": True}, {"budget": 1.0}, {"budget": None},
)  # fmt: skip


def said(**changes: Any) -> str:
    header = {name: value for name, value in (WHOLE | changes).items() if value is not ...}
    try:
        assert checked_header(header, Path("here.json"), formats=(1, 2, 3)) == header
    except FileError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""), ({"summary": {"budget": 2**62 - 1}}, ""), ({"summary": {"budget": 1, "success": None}}, ""),
        ({"format": 2}, ""), ({"format": 1, "goal": ...}, ""), ({"format": 2, "goal": ...}, "a goal with its kind"),
        ({"goal": 3}, "a goal with its kind"), ({"space": ...}, "a space with its kind"),
        ({"space": {"kind": 1}}, "a space with its kind"), ({"format": 4}, "got 4"), ({"format": 0}, "got 0"),
        ({"format": True}, "got True"), ({"format": "3"}, "got '3'"), ({"format": 3.0}, "got 3.0"),
        *(({name: value}, f"entry '{name}'") for name in
          ("data", "data_sha256", "victim", "victim_sha256", "rows_file", "rows_sha256") for value in (..., 3)),
        ({"rows_file": "../rows.csv"}, "entry 'rows_file'"), ({"rows_file": "a/rows.csv"}, "entry 'rows_file'"),
        *(({"summary": value}, "entry 'summary'") for value in NO_SUMMARIES),
        *(({"summary": {"budget": 1, "success": value}}, "entry 'success'") for value in (-1, 2**62, "1", True)),
        ({"versions": ...}, "entry 'versions'"), ({"versions": []}, "entry 'versions'"),
    ],
)  # fmt: skip
def test_every_entry_is_checked(changes: dict[str, Any], words: str) -> None:
    found = said(**changes)
    assert (words in found) if words else not found, found


@pytest.mark.parametrize("header", [None, [], "text", 3])
def test_what_is_no_header(header: object) -> None:
    with pytest.raises(FileError, match=f"format 1 or 2 or 3 in here.json, got '{type(header).__name__}'"):
        checked_header(header, Path("here.json"), formats=(1, 2, 3))


def test_lines_have_as_many_fields_as_names() -> None:
    assert read_lines(b"a,b\r\n1,2\r\n3,\r\n", ["a", "b"]) == [["1", "2"], ["3", ""]]
    assert read_lines(b"a,b\n", ["a", "b"]) == []
    for content, words in (
        (b"", "other columns"), (b"a\n", "other columns"), (b"b,a\n", "other columns"),
        (b"a,b\n1,2\n1\n", "1 fields in line 3, not 2"), (b"a,b\n1,2,3\n", "3 fields in line 2"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            read_lines(content, ["a", "b"])
