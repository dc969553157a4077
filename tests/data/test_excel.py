"""Excel files, pandas indexes and encodings: what is read is what a CSV file of the same table gives."""

import sys
import zipfile
from pathlib import Path

import openpyxl
import pandas
import pytest

from hammingbox.data.inspection import inspect_table
from hammingbox.data.read_columns import read_columns
from hammingbox.errors import FileError, InputError

FRAME = pandas.DataFrame(
    {
        "n": [1, 2, None] * 10,
        "x": [0.5, 1.25, 3.0] * 10,
        "day": pandas.to_datetime(["2020-01-01", "2020-01-02", "2020-03-01"] * 10),
        "word": ["a", "b ", "ü"] * 10,
        "y": [True, False, True] * 10,
    }
)


def test_an_excel_sheet_reads_like_a_csv_file(tmp_path: Path) -> None:
    FRAME.to_excel(tmp_path / "t.xlsx", index=False)
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    sheet, plain = read_columns(tmp_path / "t.xlsx"), read_columns(tmp_path / "t.csv")
    for a, b in zip(sheet.columns, plain.columns, strict=True):
        assert a.name == b.name
        rows = [[c.values[i].removesuffix(".0") for i in c.codes] for c in (a, b)]
        assert rows[0] == rows[1]


def test_bad_excel_files_are_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(FileError, match=r"expected an Excel file \(.xlsx\) in .*t.xlsx, got other content"):
        read_columns(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "b")
        archive.writestr("xl/workbook.xml", "b")
    with pytest.raises(FileError, match="expected a whole Excel file"):
        read_columns(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "b")
        archive.writestr("xl/a", b"\0" * (65 * 2**20))
    with pytest.raises(FileError, match="at most 64 MiB of inflated data"):
        read_columns(path)
    book = openpyxl.Workbook()
    book.save(path)
    with pytest.raises(FileError, match="expected a row of column names in the first sheet"):
        read_columns(path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"pip install 'hammingbox\[excel\]'"):
        read_columns(path)


def test_an_index_of_pandas_is_no_feature(tmp_path: Path) -> None:
    shuffled = FRAME.iloc[[4, 2, 9, 0, 1, 3, 20]]
    shuffled.to_parquet(tmp_path / "t.parquet")
    FRAME.to_csv(tmp_path / "t.csv")
    for name, note in (("t.parquet", "__index_level_0__"), ("t.csv", "the first column, which has no name")):
        table = read_columns(tmp_path / name)
        assert [column.name for column in table.columns] == list(FRAME)
        assert table.notes == (f"left out {note}: an index of pandas",)
        assert inspect_table(tmp_path / name, "y").notes == table.notes
    (tmp_path / "odd.csv").write_text(",y\nfirst,1\nsecond,2\n")
    with pytest.raises(FileError, match="got '' as a name"):
        read_columns(tmp_path / "odd.csv")


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,y\nä,1\nb,2\n".encode("latin-1"))
    with pytest.raises(FileError, match="--encoding latin-1"):
        read_columns(path)
    assert read_columns(path, encoding="latin-1").column("a").values == ("ä", "b")
