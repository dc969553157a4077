"""Tables from CSV, Parquet and frames give the same rows; bad sources give one clear sentence."""

import gzip
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import torch

from hammingbox.data.inspection import inspect_table
from hammingbox.data.read_columns import read_columns
from hammingbox.data.table import read_table
from hammingbox.errors import FileError, HammingboxError, InputError
from toys.tables import NAMES, fruit, write_csv


def test_all_sources_give_the_same_rows(tmp_path: Path) -> None:
    rows = fruit()
    plain = write_csv(tmp_path / "fruit.csv", rows)
    schema = inspect_table(plain, "bought").schema
    expected = read_table(plain, schema)
    pandas_frame = pandas.read_csv(plain)  # sizes become floats with NaN
    polars_frame = polars.read_csv(plain)
    parquet = tmp_path / "fruit.parquet"
    pandas_frame.astype({"colour": "category"}).to_parquet(parquet, row_group_size=64)
    by_hand = {name: [row[i] or None for row in rows] for i, name in enumerate(NAMES)}
    others = {
        "gzip": write_csv(tmp_path / "fruit.csv.gz", rows),
        "semicolons": write_csv(tmp_path / "semi.csv", rows, delimiter=";"),
        "tabs": write_csv(tmp_path / "fruit.tsv", rows, delimiter="\t"),
        "parquet": parquet,
        "pandas": pandas_frame,
        "polars": polars_frame,
        "mapping": by_hand,
    }
    for name, source in others.items():
        data = read_table(source, schema)
        assert torch.equal(data.ids, expected.ids), name
        assert torch.equal(data.labels, expected.labels), name
    for i, row in enumerate(rows[:20]):
        words = expected.schema.decode(expected.ids[i].tolist())
        assert words[:2] == (row[0], row[1] or "<missing>")
        assert expected.schema.classes[int(expected.labels[i])] == row[3]


def test_spaces_byte_order_marks_quotes_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes('\ufeffa, b ,y\n"x, 1",  2 ,no\n\n"line\nbreak",3,yes\n'.encode())
    table = read_columns(path)
    assert [column.name for column in table.columns] == ["a", "b", "y"]
    assert table.column("a").values == ("x, 1", "line\nbreak")
    assert table.column("b").values == ("2", "3")
    assert table.rows == 2


BAD_CSV: Mapping[str, tuple[bytes, str]] = {
    "an empty file": (b"", "expected a line of column names in .*, got an empty file"),
    "only a header": (b"a,y\n", "expected rows below the header of .*, got none"),
    "a row that is too long": (b"a,y\n1,no\n2,yes,3\n", "expected 2 fields in line 3 of .*, got 3"),
    "an open quote": (b'a,y\n1,"no\n2,yes\n', "balanced quotes in .*, got: unexpected end of data"),
    "equal names": (b"a,a,y\n1,2,no\n", "distinct column names in .*, got 'a' more than once"),
    "an empty name": (b"a,,y\n1,2,no\n", "distinct column names in .*, got '' as a name"),
    "another encoding": ("a,y\nä,no\n".encode("latin-1"), "expected utf-8 text in .*, got the byte 0xe4"),
    "truncated gzip": (gzip.compress(b"a,y\n1,no\n" * 500)[:-20], "expected complete gzip data in .*, got a damaged"),
    "damaged gzip": (gzip.compress(bytes(range(256)) * 99)[:90] + b"\xff" * 99, "expected complete gzip data in "),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_a_bad_file_is_one_clear_sentence(case: str, tmp_path: Path) -> None:
    content, message = BAD_CSV[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message) as caught:
        read_columns(path)
    assert "\n" not in str(caught.value)


def test_sources_that_are_not_tables(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"expected a readable file at .*none.csv, got: No such file"):
        read_columns(tmp_path / "none.csv")
    with pytest.raises(FileError, match=r"expected a readable file at .*none.parquet, got: No such file"):
        read_columns(tmp_path / "none.parquet")
    with pytest.raises(InputError, match=r"expected a path or a frame with named columns .* got int"):
        read_columns(3)
    with pytest.raises(InputError, match="expected columns of one length, got 1, 2 values"):
        read_columns({"a": [1], "y": [1, 2]})


def write_parquet(path: Path) -> Path:
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2], "y": ["x", "z"]}), path)
    return path


def test_damaged_parquet(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileError, match="expected complete Parquet data in"):
        read_columns(path)


def test_without_pyarrow_parquet_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "t.parquet")
    assert read_columns(path).rows == 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        InputError, match=r"expected pyarrow to read .*t\.parquet, .*pip install 'hammingbox\[parquet\]'"
    ):
        read_columns(path)


def test_a_column_that_does_not_exist_is_named() -> None:
    frame = read_columns({"aa": [1], "b": [2]})
    with pytest.raises(HammingboxError, match=r"label column of the frame \(aa, b\), got 'a'\. Did you mean 'aa'"):
        frame.column("a", kind="label column")
    with pytest.raises(HammingboxError, match=r"expected a column 'a' in the frame, .* Add the column.* mean 'aa'"):
        frame.column("a")


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ('"a; or; b","b; c"', ["a; or; b", "b; c"]),
        ('"a, or ""b"", c";y', ['a, or "b", c', "y"]),
        ('5" disks;y', ['5" disks', "y"]),
    ],
)
def test_a_delimiter_inside_quotes_is_text(header: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    delimiter = "," if header.startswith('"a; or') else ";"
    path.write_text(f"{header}\n1{delimiter}no\n2{delimiter}yes\n")
    assert [column.name for column in read_columns(path).columns] == names


def test_a_frame_with_equal_names_names_them() -> None:
    frame = pandas.DataFrame([[1, 2, "no"], [3, 4, "yes"], [5, 6, "no"]], columns=["a", "a", "y"])
    with pytest.raises(FileError, match="distinct column names in the frame, got 'a' more than once"):
        read_columns(frame)


def test_a_source_says_which_columns_hold_texts(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"code": ["1", "2"], "kind": ["1", "2"], "number": [1.5, None]})
    frame = frame.astype({"kind": "category"})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source, expected in ((frame, [True, True, False]), (tmp_path / "t.parquet", [True, True, False]),
                             (tmp_path / "t.csv", [False, False, False])):  # fmt: skip
        assert [column.holds_texts for column in read_columns(source).columns] == expected
