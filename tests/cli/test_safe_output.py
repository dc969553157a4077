"""What strangers wrote is shown on a terminal, never obeyed, and no spreadsheet runs it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

from hammingbox.cli.console import SafeConsole, plain, print_json
from hammingbox.cli.safe_text import escaped_json, one_line, shown_text
from hammingbox.data.schema import Feature, Schema
from hammingbox.report.artefacts.export import FORMATS, records
from hammingbox.running.store import open_store
from toys.program import call_program
from toys.result_folders import fill

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f\r"
NASTY = Schema(
    (Feature(f"colour{ESCAPES}", (f"red{ESCAPES}", "=1+1", "@x")), Feature("size", ("-1", "+1", "\tx"))),
    ("=cmd|' /C calc'!A0", f"ok{ESCAPES}"),
)


def _obeyed(text: str) -> set[str]:
    """Characters that a terminal acts on."""
    return {
        sign for sign in text if sign != "\n" and (sign < " " or "\x7f" <= sign <= "\x9f" or sign in "\u202e\u2066")
    }


@pytest.mark.parametrize("colour", [None, "truecolor"])
def test_every_way_to_print_shows_control_characters(colour: Any) -> None:
    written = io.StringIO()
    console = SafeConsole(file=written, color_system=colour, width=200, force_terminal=colour is not None)
    table = Table(ESCAPES, plain(ESCAPES))
    table.add_row(ESCAPES, Text(ESCAPES))
    for thing in (ESCAPES, Text(ESCAPES), Text.assemble(("x", "bold"), ESCAPES), table, plain(ESCAPES)):
        console.print(thing)
    text = written.getvalue()
    allowed = {"\x1b"} if colour else set()
    assert _obeyed(text) <= allowed, "only the escapes that rich itself writes for colours"
    for injected in ("\x1b]0", "\x1b[2J", "\x9b", "\u202e"):
        assert injected not in text
    assert "\N{SYMBOL FOR ESCAPE}[2J" in text


def test_names_stay_on_their_line() -> None:
    assert (
        one_line("a\nverified: all\tb") == "a\N{SYMBOL FOR LINE FEED}verified: all\N{SYMBOL FOR HORIZONTAL TABULATION}b"
    )
    assert shown_text("two\nlines\tand é 漢") == "two\nlines\tand é 漢"


def test_json_keeps_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": ESCAPES})
    text = capsys.readouterr().out
    assert _obeyed(text) == set()
    assert json.loads(text) == {"name": ESCAPES}
    assert json.loads(escaped_json(json.dumps("\x85", ensure_ascii=False))) == "\x85"


def test_commands_on_a_folder_of_a_stranger(tmp_path: Path) -> None:
    fill(tmp_path, NASTY, attacks=("ga",), budgets=(1,), rows=8, data=f"data{ESCAPES}", victims=(f"toy{ESCAPES}",))
    for command in (("list",), ("show", "1")):
        assert _obeyed(call_program("results", command[0], tmp_path, *command[1:])) == set()
    with open_store(tmp_path, readonly=True) as store:
        for what in ("runs", "rows"):
            found = records(store, what)
            lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](found).decode(), newline="")))
            assert len(lines) == len(found)
            for line, record in zip(lines, found, strict=True):
                for name, cell in line.items():
                    number = isinstance(record[name], int | float)
                    assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (name, cell)
                    if number and not isinstance(record[name], bool):
                        assert float(cell) == pytest.approx(record[name])
    assert any(line["label"] == "'=cmd|' /C calc'!A0" for line in lines)
