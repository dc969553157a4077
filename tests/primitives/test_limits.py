"""What would take the whole machine is refused at once, with its limit; compressed data is inflated up to one."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch

from hammingbox import files
from hammingbox.attacks import ATTACKS
from hammingbox.cli.options import MOST_BUDGETS, budgets_from
from hammingbox.data.delimited import read_rows
from hammingbox.data.table import load_table
from hammingbox.errors import FileError, InputError
from hammingbox.seeding import RowRandom, torch_generator
from hammingbox.settings import whole_number
from hammingbox.threat.layout import Layout
from hammingbox.training.config import TrainConfig


@pytest.mark.parametrize(
    ("attack", "name"),
    [("pcaa", "steps"), ("pcaa", "samples"), ("pcaa", "draws"), ("genetic", "population"), ("genetic", "generations"),
     ("beam", "beam"), ("random", "draws"), ("random", "batch"), ("local", "starts"), ("sparse_rs", "steps")],
)  # fmt: skip
def test_endless_attacks_are_refused_when_they_are_made(attack: str, name: str) -> None:
    with pytest.raises(InputError, match=rf"expected {name} of at most [\d,]+, got 1,000,000,000,000"):
        ATTACKS[attack](**{name: 10**12})


def test_endless_trainings_are_refused() -> None:
    for name in ("epochs", "batch_size", "patience", "robust_rows"):
        with pytest.raises(InputError, match=f"expected {name} of at most"):
            TrainConfig(**{name: 10**12})  # type: ignore[arg-type]


def test_ranges_of_budgets_are_refused_before_they_are_made() -> None:
    assert budgets_from("1-3") == budgets_from(" 1,2,3") == [1, 2, 3]
    assert len(budgets_from(f"1-{MOST_BUDGETS}")) == MOST_BUDGETS
    for text in ("1-99999999", f"0-{MOST_BUDGETS}", "1-999999999999"):
        with pytest.raises(InputError, match=f"at most {MOST_BUDGETS} budgets"):
            budgets_from(text)
    for text in ("", "5-1", "1,", "9" * 5000, "1-" + "9" * 5000, "\u0663", "1-2-3"):
        with pytest.raises(InputError, match="budgets such as"):
            budgets_from(text)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    for use in (torch_generator, lambda odd: RowRandom.for_rows(odd, torch.tensor([[0, 1]]))):
        with pytest.raises(InputError, match="expected seed of 0 to"):
            use(seed)


def test_whole_numbers_of_numpy_are_plain_numbers() -> None:
    for value in (np.int64(3), np.uint8(3), 3):
        assert type(whole_number("rows", value)) is int
    for wrong in (0, 1.5, np.float64(2), True, np.bool_(True), "2", 10**30):
        with pytest.raises(InputError, match="rows"):
            whole_number("rows", wrong)


def test_a_layout_has_a_limit() -> None:
    with pytest.raises(InputError, match="at most 20,000,000 options"):
        Layout.of((10**9,), torch.device("cpu"))


def test_compressed_data_is_inflated_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + (b"x" * 200 + b",y\n") * 12_000))
    assert sum(1 for _ in read_rows(path)) == 12_001
    monkeypatch.setenv(files.INFLATED_VARIABLE, "1")
    with pytest.raises(FileError, match=r"at most 1 MiB of inflated data .* set HAMMINGBOX_INFLATED_MIB"):
        list(read_rows(path))
    with pytest.raises(FileError, match="at most 1 MiB"):
        files.gunzip(path.read_bytes(), path)
    assert sum(1 for _ in read_rows(path, inflated=4)) == 12_001, "a known data set has its own limit"
    for wrong in ("x", "-1", "0", "1.5", "9" * 30):
        monkeypatch.setenv(files.INFLATED_VARIABLE, wrong)
        with pytest.raises(InputError, match="number of MiB"):
            files.inflated_limit()


def test_lines_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 100)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "x" * 1_000_000)
    with pytest.raises(FileError, match="lines of at most 100 bytes"):
        list(read_rows(path))


def test_tables_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hammingbox.data.read_columns.MOST_ROWS", 10)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "x,y\n" * 11)
    with pytest.raises(FileError, match="at most 10 rows"):
        load_table(path, label="b")


def test_a_large_table_needs_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hammingbox.data.read_columns.SMALL_ROWS", 1000)
    monkeypatch.setattr("hammingbox.data.read_columns._PARQUET_ROWS", 500)
    path = tmp_path / "table.parquet"
    for rows, values in ((3000, range(3000)), (60_000, [0, 1] * 30_000)):
        pyarrow.parquet.write_table(pyarrow.table({"a": list(values), "b": ["x", "y"] * (rows // 2)}), path)
        if path.stat().st_size >= rows:
            assert load_table(path, label="b").splits.whole().ids.shape[0] == rows
        else:
            with pytest.raises(FileError, match=r"at most [\d,]+ rows"):
                load_table(path, label="b")
    assert path.stat().st_size < 60_000, "the second table is the one that is refused"


def test_a_column_of_a_row_group_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.INFLATED_VARIABLE, "1")
    path = tmp_path / "table.parquet"
    numbers = np.random.default_rng(0).integers(0, 2**60, 140_000)
    table = pyarrow.table({"a": numbers, "b": ["x", "y"] * 70_000})
    pyarrow.parquet.write_table(table, path, row_group_size=10_000, use_dictionary=False)
    assert load_table(path, label="b").splits.train.ids.shape[1] == 1  # several MiB, but not at once
    pyarrow.parquet.write_table(table, path, use_dictionary=False)
    with pytest.raises(FileError, match="at most 1 MiB of inflated data"):
        load_table(path, label="b")


@pytest.mark.parametrize("name", ["a\x00b", "d" * 5000, "d" * 300 + "/x"])
def test_names_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for use in (files.exists, files.read_bytes, files.read_json, files.file_sha256):
        with pytest.raises(FileError) as caught:
            use(path)
        assert len(str(caught.value)) < 500
    with pytest.raises(FileError, match="expected to write"):
        files.write_bytes(path, b"")
