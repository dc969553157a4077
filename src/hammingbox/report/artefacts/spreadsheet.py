"""An Excel workbook with one sheet, written as Office Open XML without a library: texts stay texts, numbers numbers."""

import io
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from hammingbox.errors import InputError

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
"""What a sheet and a cell may hold."""

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""Characters that XML cannot hold."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"

_PARTS = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET}.worksheet+xml"/></Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="results" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def workbook(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A workbook with a row of names and one row per record.

    A text is never a formula: it is stored as a text whatever it begins with.

    Raises:
        InputError: more rows or columns than a sheet can hold.
    """
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"expected at most {MOST_COLUMNS:,} columns for Excel, got {len(names):,}. Use csv or parquet."
        )
    lines = [_row(names)]
    for row in rows:
        lines.append(_row(row))
        if len(lines) > MOST_ROWS:
            raise InputError(f"expected fewer than {MOST_ROWS:,} rows for Excel, got more. Use csv or parquet.")
    sheet = f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (_PARTS | {"xl/worksheets/sheet1.xml": sheet}).items():
            # A fixed time: the same records make the same file, byte for byte.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _row(values: Sequence[Any]) -> str:
    return f"<row>{''.join(map(_cell, values))}</row>"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    text = _ILLEGAL.sub("\ufffd", str(value))[:MOST_CHARACTERS]
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
