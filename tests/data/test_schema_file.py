"""schema.toml: what is written is read back, and bad files give one clear sentence."""

import re
from pathlib import Path

import pytest

from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.inspection import inspect_table
from hammingbox.data.read_columns import read_columns
from hammingbox.data.schema_file import read_schema, write_schema
from hammingbox.data.table import load_table
from hammingbox.data.table_schema import TableSchema
from hammingbox.errors import FileError, InputError
from toys.tables import fruit, write_csv


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "fruit.csv", fruit())
    inferred = inspect_table(path, "bought").schema
    write_schema(inferred, tmp_path / "schema.toml")
    assert read_schema(tmp_path / "schema.toml").complete(read_columns(path)) == inferred


def test_the_header_explains_every_entry(tmp_path: Path) -> None:
    everything = ColumnRules("a", missing=True, immutable=True, forbidden=("1",), kind="number", steps=(1.0,))
    more = ColumnRules("b", candidates="observed", sentinels=("?",), categories=("u", "v"))
    write_schema(TableSchema("y", (everything, more, ColumnRules("c", bins=(1.0,)))), tmp_path / "schema.toml")
    lines = (tmp_path / "schema.toml").read_text().splitlines()
    header = "\n".join(line for line in lines if line.startswith("#"))
    entries = {key for line in lines if not line.startswith("#") for key in re.findall(r"(\w+) = ", line)}
    assert {"label", "categories", "immutable", "kind", "candidates", "steps", "sentinels", "bins"} <= entries
    assert [entry for entry in entries - {"name"} if entry not in header] == []


BAD_TOML = {
    "no TOML": ("label = ", "expected TOML in .*schema.toml, got: Invalid value"),
    "no label": ("[[columns]]\nname = 'a'\n", "expected the entry 'label', got columns"),
    "a misspelt entry": ("label='y'\n[[columns]]\nname='a'\nimutable=true\n", "'imutable'. Did you mean 'immutable'"),
    "numbers as categories": (
        "label='y'\n[[columns]]\nname='a'\ncategories=[1,2]\n",
        r"a list of quoted strings for 'categories', got \[1, 2\]",
    ),
    "a list that is none": ("label='y'\n[[columns]]\nname='a'\nbins=3\n", "a list of numbers for 'bins', got 3"),
    "a word for a truth": ("label='y'\n[[columns]]\nname='a'\nmissing='no'\n", "true or false for 'missing', got 'no'"),
    "decreasing bins": (
        "label='y'\n[[columns]]\nname='a'\nbins=[2,1]\n",
        "increasing edges as bins of column 'a', got",
    ),
    "bins and categories": (
        "label='y'\n[[columns]]\nname='a'\nbins=[2]\ncategories=['1']\n",
        "categories or bins for column 'a', got both",
    ),
    "another policy": ("label='y'\nunknown='skip'\n[[columns]]\nname='a'\n", "policy for unknown values .* 'skip'"),
    "the label as a feature": ("label='y'\n[[columns]]\nname='y'\n", "features without the label 'y'"),
    "a column the file lacks": (
        "label='y'\n[[columns]]\nname='aa'\n",
        r"column 'aa' in .* without it.* Did you mean 'a'",
    ),
    "text in a column of bins": ("label='y'\n[[columns]]\nname='t'\nbins=[2]\n", r"column 't' \(< 2, >= 2\), got 'u'"),
    "another label": ("label='t'\n[[columns]]\nname='a'\n", "the label of the schema, 't', got 'y'"),
}


@pytest.mark.parametrize("case", BAD_TOML)
def test_a_bad_schema_is_one_clear_sentence(case: str, tmp_path: Path) -> None:
    text, message = BAD_TOML[case]
    toml = tmp_path / "schema.toml"
    toml.write_text(text)
    with pytest.raises((FileError, InputError), match=message):
        load_table({"a": ["1", "2"], "t": ["u", "v"], "y": ["no", "yes"]}, label="y", schema=toml)
