"""Tables as people bring them: under a wrong name, packed, in another format. Read, or named with the remedy."""

import bz2
import gzip
import io
import lzma
import pickle
import shutil
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from hammingbox import FileError, load_table
from hammingbox.data.read_columns import read_columns
from toys.program import run_program

FRAME = pandas.DataFrame({"word": list("xyxyx") * 20, "n": range(100), "risk": list("gbbgg") * 20})
CSV = FRAME.to_csv(index=False)
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


def zipped(*names: str, content: str = CSV) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return held.getvalue()


def tarred() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        entry = tarfile.TarInfo("table.csv")
        entry.size = len(CSV)
        archive.addfile(entry, io.BytesIO(CSV.encode()))
    return held.getvalue()


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    held = io.BytesIO()
    write(held)
    return held.getvalue()


def database(folder: Path) -> bytes:
    with sqlite3.connect(folder / "made.db") as held:
        held.execute("create table t (a)")
    held.close()
    return (folder / "made.db").read_bytes()


OTHERS = {
    "a zip archive": ("t.zip", zipped("table.csv"), r"a zip archive \(table.csv\)\. Unpack it first"),
    "a zip archive of a Mac": ("t.csv", zipped("a.csv", "b.csv", "__MACOSX/._a.csv"), r"archive \(a.csv, b.csv\)\."),
    "an array of several": ("t.npz", written(lambda held: np.savez(held, a=np.zeros(3))), r"archive \(a.npy\)\."),
    "a tar archive": ("t.tar", tarred(), "a tar archive. Unpack it first"),
    "a packed tar archive": ("t.tar.gz", gzip.compress(tarred()), "a tar archive. Unpack it first"),
    "bzip2": ("t.csv.bz2", bz2.compress(CSV.encode()), "bzip2 data. Unpack it, or compress it with gzip"),
    "xz": ("t.csv.xz", lzma.compress(CSV.encode()), "xz data. Unpack it"),
    "7z": ("t.7z", b"7z\xbc\xaf\x27\x1c" + bytes(90), "a 7z archive. Unpack it first"),
    "old Excel": ("t.xls", OLD_EXCEL, r"the old format .xls, or one with a password. Save it as .xlsx or CSV"),
    "old Excel as CSV": ("t.csv", OLD_EXCEL, r"the old format .xls, or one with a password"),
    "binary Excel": ("t.xlsb", zipped("[Content_Types].xml", "xl/workbook.bin"), r"format .xlsb. Save it as .xlsx"),
    "OpenDocument": ("t.ods", zipped("mimetype", "content.xml"), "an OpenDocument file. Save it as .xlsx or CSV"),
    "Feather": ("t.feather", written(FRAME.to_feather), r"Feather or Arrow data. Read it with pandas or polars"),
    "Feather as Parquet": ("t.parquet", written(FRAME.to_feather), "Feather or Arrow data"),
    "JSON records": ("t.json", FRAME.to_json(orient="records").encode(), r"got JSON. Read it .* to_csv\(\)"),
    "JSON columns as CSV": ("t.csv", FRAME.to_json().encode(), "got JSON"),
    "JSON lines as Parquet": ("t.parquet", FRAME.to_json(orient="records", lines=True).encode(), "got JSON"),
    "JSON packed": ("t.json.gz", gzip.compress(FRAME.to_json(orient="values").encode()), "got JSON"),
    "a pickle": ("t.pkl", pickle.dumps(FRAME), "a pickle, which is never opened: it may run anything. Read it"),
    "a NumPy array": ("t.npy", written(lambda held: np.save(held, np.zeros(3))), "a NumPy array. Write it as CSV"),
    "a web page": ("t.csv", b"\n<!DOCTYPE html><html>Sign in</html>", "a web page. If it was downloaded, get the file"),
    "a web page as Excel": ("t.xls", b"<table><tr><td>1</td></tr></table>", "a web page"),
    "XML": ("t.csv", b"<?xml version='1.0'?><a/>", "got XML. Save the table as CSV"),
    "ARFF": ("t.arff", b"@RELATION x\n@attribute a {x,y}\n", "got ARFF. Save the table as CSV"),
    "git-lfs": ("t.csv", b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
    "CSV as Parquet": ("t.parquet", CSV.encode(), r"content of a .parquet file .* got text. .* end in .csv"),
    "CSV as Excel": ("t.xlsx", CSV.encode(), r"content of a .xlsx file .* got text"),
    "text as old Excel": ("t.xls", FRAME.to_csv(sep="\t").encode(), r"content of a .xls file .* got text"),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_no_table_is_named_with_the_remedy(case: str, tmp_path: Path) -> None:
    name, content, said = OTHERS[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=said) as seen:
        read_columns(tmp_path / name)
    assert str(tmp_path / name) in str(seen.value)


def test_a_database_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(database(tmp_path))
    with pytest.raises(FileError, match=r"a SQLite database\. Export the table as CSV"):
        read_columns(tmp_path / "t.csv")
    (tmp_path / "parts.parquet").mkdir()
    with pytest.raises(FileError, match=r"got the folder .*parts\.parquet\. Name one file in it"):
        read_columns(tmp_path / "parts.parquet")


@pytest.mark.parametrize("wrong", ["t.csv", "t.parquet", "t.xlsx", "t.xls", "t"])
@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_parquet_and_excel_are_read_under_any_name(kind: str, wrong: str, tmp_path: Path) -> None:
    right = tmp_path / f"right.{kind}"
    FRAME.to_parquet(right) if kind == "parquet" else FRAME.to_excel(right, index=False)
    shutil.copy(right, tmp_path / wrong)
    for found, expected in zip(read_columns(tmp_path / wrong).columns, read_columns(right).columns, strict=True):
        assert (found.name, found.values) == (expected.name, expected.values)
        assert (found.codes == expected.codes).all()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_is_read_by_option_and_named_without_it(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(CSV.encode(encoding))
    with pytest.raises(FileError, match=f"Add --encoding {encoding} "):
        read_columns(path)
    loaded = load_table(path, label="risk", encoding=encoding).splits
    path.write_text(CSV)
    assert loaded.schema == load_table(path, label="risk").splits.schema


def test_the_program_ends_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.zip").write_bytes(zipped("table.csv"))
    run_program("audit", tmp_path / "t.zip", "--label", "risk", "--model", "x:y", "--out", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "header", ["[word],[n],[risk]", "{word},n,risk", "PKword,n,risk", "<word>,n,risk", "BZh,n,risk", "ORC,n,risk"]
)
def test_odd_names_of_columns_are_names(header: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV.replace("word,n,risk", header))
    assert [column.name for column in read_columns(tmp_path / "t.csv").columns] == header.split(",")
