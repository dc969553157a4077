"""A user's own table: read, inferred, edited, enforced."""

import csv
import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import torch

from hammingbox.data.columns import read_columns
from hammingbox.data.schema_file import read_schema, write_schema
from hammingbox.data.table import inspect_table, load_table, read_table
from hammingbox.errors import FileError, InputError
from hammingbox.space import MaskedSpace

NAMES = ["colour", "size", "weight", "bought"]


def fruit(rows: int = 200) -> list[list[str]]:
    """Colours, sizes with gaps, weights with two digits, and a label."""
    random = np.random.default_rng(0)
    return [
        [
            ["red", "green", "blue"][int(random.integers(3))],
            ["1", "2", "10", ""][int(random.integers(4))],
            f"{random.normal(50, 10):.2f}",
            ["no", "yes"][int(random.integers(2))],
        ]
        for _ in range(rows)
    ]


def write_csv(path: Path, rows: list[list[str]], names: list[str] = NAMES, delimiter: str = ",") -> Path:
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([names, *rows])
    return path


def test_the_inferred_schema_and_the_counts(tmp_path: Path) -> None:
    rows = fruit()
    found = inspect_table(write_csv(tmp_path / "fruit.csv", rows), "bought")
    colour, size, weight = found.columns
    assert (found.rows, found.distinct_rows) == (200, len({(r[0], r[1], _bin(found, r)) for r in rows}))
    assert found.classes == {name: sum(r[3] == name for r in rows) for name in ("no", "yes")}
    assert (colour.kind, colour.cardinality, colour.missing) == ("categories", 3, 0)
    assert (size.cardinality, size.missing) == (4, sum(r[1] == "" for r in rows))
    assert found.schema.columns[1].words == ("1", "2", "10", "<missing>"), "numbers stand in their order"
    assert (weight.kind, weight.cardinality, weight.rare) == ("bins", 10, 0)
    assert weight.distinct == len({r[2] for r in rows})
    assert colour.most_common == max(((c, sum(r[0] == c for r in rows)) for c in ("red", "green", "blue")), key=_second)


def _second(pair: tuple[str, int]) -> int:
    return pair[1]


def _bin(found: object, row: list[str]) -> int:
    edges = found.schema.columns[2].bins  # type: ignore[attr-defined]
    return sum(float(row[2]) >= edge for edge in edges)


def test_all_ways_in_give_the_same_rows(tmp_path: Path) -> None:
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


def test_an_edited_schema_is_enforced(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "fruit.csv", fruit())
    toml = tmp_path / "schema.toml"
    inferred = inspect_table(path, "bought").schema
    write_schema(inferred, toml)
    assert read_schema(toml) == inferred, "what is written is read back"

    text = toml.read_text()
    blocks = text.split("\n[[columns]]\n")
    blocks[1] = blocks[1].replace("immutable = false", "immutable = true")  # colour
    blocks[2] = blocks[2].replace("forbidden = []", 'forbidden = ["<missing>"]')  # size
    blocks[3] = 'name = "weight"\nbins = [40, 60.5]'
    toml.write_text("\n[[columns]]\n".join([blocks[0], blocks[3], blocks[1], blocks[2]]))

    own = load_table(path, schema=toml)
    assert [f.name for f in own.splits.schema.features] == ["weight", "colour", "size"], "the file's order"
    assert own.splits.schema.features[0].categories == ("< 40", "40 .. 60.5", ">= 60.5")
    space = MaskedSpace(own.splits.schema, immutable=own.schema.immutable, forbidden=own.schema.forbidden)
    x, _ = own.splits.test.batch(slice(None))
    candidates = space.candidates(x)
    changed = x.clone()
    changed[:, 1] = (x[:, 1] + 1) % 3
    assert not bool(candidates.contains(changed).any()), "an immutable column"
    changed = x.clone()
    changed[:, 2] = own.splits.schema.category_id(2, "<missing>")
    assert torch.equal(candidates.contains(changed), x[:, 2] == changed[:, 2]), "a forbidden category"


def test_an_unknown_value_is_an_error_or_a_category(tmp_path: Path) -> None:
    schema = inspect_table(write_csv(tmp_path / "train.csv", fruit()), "bought").schema
    new = write_csv(tmp_path / "new.csv", [["red", "1", "50", "no"], ["mauve", "2", "51", "yes"]])
    with pytest.raises(InputError, match=r"category of column 'colour' \(blue, green, red\), got 'mauve' in row 2 of"):
        read_table(new, schema)
    toml = tmp_path / "schema.toml"
    write_schema(schema, toml)
    toml.write_text(toml.read_text().replace('unknown = "error"', 'unknown = "category"'))
    tolerant = read_schema(toml)
    data = read_table(new, tolerant)
    assert [data.schema.decode(row)[0] for row in data.ids.tolist()] == ["red", "<unknown>"]
    space = MaskedSpace(tolerant.schema, forbidden=tolerant.forbidden)
    written = data.batch(slice(None))[0].clone()
    written[0, 0] = 3
    allowed = space.candidates(data.batch(slice(None))[0]).contains(written)
    assert allowed.tolist() == [False, True], "nobody writes <unknown>, but a row may have it"


def test_categories_that_were_deleted_come_from_the_file(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "fruit.csv", fruit())
    toml = tmp_path / "schema.toml"
    toml.write_text('label = "bought"\n[[columns]]\nname = "weight"\n[[columns]]\nname = "size"\n')
    own = load_table(path, schema=toml)
    assert own.splits.schema.cardinalities == (len({r[2] for r in fruit()}), 4)


def test_ten_thousand_categories_stay_small(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    codes = np.concatenate([np.arange(10_000), random.integers(10_000, size=5_000)])
    rows = [[f"merchant {i}", "ab"[int(random.integers(2))], "xy"[i % 2]] for i in codes]
    path = write_csv(tmp_path / "big.csv", rows, ["merchant", "kind", "fraud"])
    tracemalloc.start()
    own = load_table(path, label="fraud")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert own.splits.schema.cardinalities == (10_000, 2)
    assert peak < 16e6, "about 10,000 texts and two integers a row"


def test_notes_warn_about_columns_that_do_not_help(tmp_path: Path) -> None:
    rows = [[f"id{i}", "same", "?" if i % 3 else "b", "xy"[i % 2]] for i in range(300)]
    notes = [c.note for c in inspect_table(write_csv(tmp_path / "t.csv", rows, ["id", "k", "q", "y"]), "y").columns]
    assert "identifier" in notes[0]
    assert "same in every row" in notes[1]
    assert "looks like a missing value" in notes[2]


BAD_CSV = {
    "an empty file": (b"", FileError, "expected a line of column names in .*, got an empty file"),
    "a header alone": (b"a,y\n", FileError, "expected rows below the header of .*, got none"),
    "one class": (b"a,y\n1,no\n2,no\n", InputError, "at least two classes in the label column 'y' .* got only 'no'"),
    "no class": (b"a,y\n1,\n2,\n", InputError, "at least two classes in the label column 'y' .* got none"),
    "a row without a class": (b"a,y\n1,no\n2,\n3,yes\n", InputError, "classes no, yes .* got '' in row 2"),
    "another label": (b"a,yy\n1,no\n2,yes\n", InputError, "label column of .* got 'y'. Did you mean 'yy'"),
    "a ragged row": (b"a,y\n1,no\n2,yes,3\n", FileError, "expected 2 fields in line 3 of .*, got 3"),
    "an open quote": (b'a,y\n1,"no\n2,yes\n', FileError, "balanced quotes in .*, got: unexpected end of data"),
    "equal names": (b"a,a,y\n1,2,no\n", FileError, "distinct column names in .*, got 'a' more than once"),
    "another encoding": ("a,y\nä,no\n".encode("latin-1"), FileError, "expected utf-8 text in .*, got the byte 0xe4"),
    "broken gzip": (gzip.compress(b"a,y\n1,no\n" * 500)[:-20], FileError, "expected whole gzip data in .*, got a"),
    "damaged gzip": (
        gzip.compress(bytes(range(256)) * 99)[:90] + b"\xff" * 99,
        FileError,
        "expected whole gzip data in ",
    ),
    "too few rows": (b"a,y\n1,no\n2,yes\n", InputError, "enough distinct rows in .* got 2"),
    "numbers as label": (
        b"a,y\n" + b"".join(b"1,%d\n" % i for i in range(1001)),
        InputError,
        "at most 1000 classes in the label column 'y', got 1001",
    ),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_a_bad_file_is_one_clear_sentence(case: str, tmp_path: Path) -> None:
    content, error, says = BAD_CSV[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(error, match=says) as caught:
        load_table(path, label="y")
    assert "\n" not in str(caught.value)


def test_other_bad_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match=r"expected a readable file at .*none.csv, got: No such file"):
        load_table(tmp_path / "none.csv", label="y")
    with pytest.raises(InputError, match=r"expected a path or a frame with named columns .* got int"):
        load_table(3, label="y")
    with pytest.raises(InputError, match="expected columns of one length, got 1, 2 values"):
        load_table({"a": [1], "y": [1, 2]}, label="y")
    with pytest.raises(InputError, match="expected the label column or a schema, got neither"):
        load_table({"a": [1], "y": [1]})
    parquet = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2], "y": ["x", "z"]}), parquet)
    parquet.write_bytes(parquet.read_bytes()[:-9])
    with pytest.raises(FileError, match="expected whole Parquet data in"):
        load_table(parquet, label="y")
    with pytest.raises(FileError, match=r"expected a readable file at .*none.parquet, got: No such file"):
        load_table(tmp_path / "none.parquet", label="y")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(FileError, match=r"Install it: pip install 'hammingbox\[parquet\]'"):
        load_table(parquet, label="y")


BAD_TOML = {
    "no TOML": ("label = ", "expected TOML in .*schema.toml, got: Invalid value"),
    "no label": ("[[columns]]\nname = 'a'\n", "expected the entry 'label', got columns"),
    "a misspelt entry": ("label='y'\n[[columns]]\nname='a'\nimutable=true\n", "'imutable'. Did you mean 'immutable'"),
    "numbers as categories": (
        "label='y'\n[[columns]]\nname='a'\ncategories=[1,2]\n",
        r"a list of texts in quotes for 'categories', got \[1, 2\]",
    ),
    "falling bins": ("label='y'\n[[columns]]\nname='a'\nbins=[2,1]\n", "rising edges as bins of column 'a', got"),
    "bins and categories": (
        "label='y'\n[[columns]]\nname='a'\nbins=[2]\ncategories=['1']\n",
        "categories or bins for column 'a', got both",
    ),
    "another policy": ("label='y'\nunknown='skip'\n[[columns]]\nname='a'\n", "policy for unknown values .* 'skip'"),
    "the label as a feature": ("label='y'\n[[columns]]\nname='y'\n", "the label 'y' to be no feature"),
    "a column the file lacks": ("label='y'\n[[columns]]\nname='aa'\n", "got 'aa'. Did you mean 'a'"),
    "text in a column of bins": ("label='y'\n[[columns]]\nname='t'\nbins=[2]\n", r"column 't' \(< 2, >= 2\), got 'u'"),
    "another label": ("label='t'\n[[columns]]\nname='a'\n", "the label of the schema, 't', got 'y'"),
}


@pytest.mark.parametrize("case", BAD_TOML)
def test_a_bad_schema_is_one_clear_sentence(case: str, tmp_path: Path) -> None:
    text, says = BAD_TOML[case]
    toml = tmp_path / "schema.toml"
    toml.write_text(text)
    with pytest.raises((FileError, InputError), match=says):
        load_table({"a": ["1", "2"], "t": ["u", "v"], "y": ["no", "yes"]}, label="y", schema=toml)
