"""The core install has no optional library: data and text still load, and what needs a library names its extra."""

import subprocess
import sys
from pathlib import Path

BLOCKED = ("pyarrow", "textblob", "nltk", "sklearn", "lightgbm", "pandas", "polars", "xgboost", "lemminflect")

PROGRAM = f"""
import importlib.abc
import pkgutil
import sys


class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Block())
import hammingbox.data
import hammingbox.text

for package in (hammingbox.data, hammingbox.text):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        __import__(module.name)

from hammingbox.data.registry import source_named
from hammingbox.data.table import load_table
from hammingbox.errors import InputError
from hammingbox.text.tagger import default_tagger

csv, parquet = sys.argv[1:]
print(len(load_table(csv, label="y").splits.train))
print(len(source_named("splice").load().test))
for use in (lambda: load_table(parquet, label="y"), default_tagger):
    try:
        use()
    except InputError as error:
        print(error)
"""


def test_without_optional_libraries_data_loads_and_errors_name_the_extra(tmp_path: Path) -> None:
    csv, parquet = tmp_path / "own.csv", tmp_path / "own.parquet"
    csv.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60)))
    parquet.write_bytes(b"PAR1, not read without pyarrow")
    command = [sys.executable, "-c", PROGRAM, str(csv), str(parquet)]
    own, splice, *errors = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert int(own) > 20, "rows of a CSV file"
    assert int(splice) == 633, "rows of the included data set"
    assert errors == [
        f"expected pyarrow to read {parquet}, got: No module named 'pyarrow'. Run: pip install 'hammingbox[parquet]'.",
        "expected textblob to tag words, got: No module named 'textblob'. Run: pip install 'hammingbox[text]'.",
    ]
