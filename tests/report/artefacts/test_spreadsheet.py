"""The Excel workbook: every value comes back as it was, and no text is a formula."""

import io
import zipfile
from typing import Any
from xml.etree import ElementTree

import pytest

from hammingbox.errors import InputError
from hammingbox.report.artefacts.spreadsheet import MOST_COLUMNS, workbook

_NAME = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def values(content: bytes) -> list[list[Any]]:
    """The cells of the sheet, read with nothing but the standard."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            ElementTree.fromstring(archive.read(name))
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    return [[_value(cell) for cell in row] for row in sheet.iter(f"{_NAME}row")]


def _value(cell: ElementTree.Element) -> Any:
    kind = cell.get("t")
    if kind == "inlineStr":
        return next(cell.iter(f"{_NAME}t")).text or ""
    number = cell.find(f"{_NAME}v")
    if number is None or number.text is None:
        return None
    return bool(int(number.text)) if kind == "b" else float(number.text)


def test_values_come_back() -> None:
    odd = ["=1+1", "<b>&amp;", " two  blanks ", "a\nb", "", "\N{SNOWMAN}", "007"]
    rows: list[list[Any]] = [[1, 0.25, True, None, float("nan"), -3, False], odd]
    names = list("abcdefg")
    assert values(workbook(names, rows)) == [names, [1, 0.25, True, None, None, -3, False], odd]


def test_what_xml_cannot_hold_is_replaced() -> None:
    assert values(workbook(["a\x00"], [["b\x1b\ud800"]])) == [["a\ufffd"], ["b\ufffd\ufffd"]]


def test_the_same_records_make_the_same_file() -> None:
    assert workbook(["a"], [[1]]) == workbook(["a"], [[1]])


def test_a_sheet_has_an_end() -> None:
    with pytest.raises(InputError, match="Use csv or parquet"):
        workbook(["x"] * (MOST_COLUMNS + 1), [])
