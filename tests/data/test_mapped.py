"""Large tables in temporary files: the same rows, parts and errors as those of a table in memory."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch

from hammingbox import Dataset, FileError, InputError, Schema
from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.mapped import ArrayFile, is_mapped
from hammingbox.data.split import distinct_rows
from hammingbox.data.table import LoadedTable, load_table
from hammingbox.data.table_schema import TableSchema

ROWS = 600


def columns(seed: int = 0, rows: int = ROWS) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    return {
        "colour": rng.choice(["red", " red", "green ", "blue", ""], rows).tolist(),
        "weight": rng.integers(0, 60, rows).tolist(),
        "price": np.round(rng.normal(3, 1, rows), 2).tolist(),
        "day": [f"2024-01-{day:02}" for day in rng.integers(1, 29, rows)],
        "shop": rng.choice(list("abcdefgh"), rows).tolist(),
        "good": rng.choice(["yes", "no"], rows).tolist(),
    }


def written(folder: Path, form: str, **settings: int) -> Path:
    table, path = pyarrow.table(columns(**settings)), folder / f"table-{settings.get('seed', 0)}.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=100)
    else:
        lines = [",".join(["", *table.column_names])]
        lines += [",".join(map(str, (i, *row.values()))) for i, row in enumerate(table.to_pylist())]
        path.write_text("\n".join(lines) + "\n")
    return path


def as_large(monkeypatch: pytest.MonkeyPatch, cells: int = 70) -> None:
    for place in ("columns", "dataset"):
        monkeypatch.setattr(f"hammingbox.data.{place}.MAPPED_CELLS", cells)


def assert_same(small: LoadedTable, large: LoadedTable) -> None:
    assert small.schema == large.schema
    for part in ("train", "validation", "test"):
        one, two = getattr(small.splits, part), getattr(large.splits, part)
        assert is_mapped(two.ids)
        assert not is_mapped(one.ids)
        assert torch.equal(one.numbers, two.numbers)
        assert one.digest == two.digest
    for one, two in (
        (small.splits.whole(), large.splits.whole()),
        (small.splits.by_number(), large.splits.by_number()),
    ):
        assert is_mapped(two.ids)
        assert torch.equal(one.numbers, two.numbers)
        assert one.digest == two.digest


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("rule", [{}, {"time": "day"}, {"group": "weight"}, {"stratified": True}])
def test_both_ways_read_the_same(
    form: str, rule: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, form)
    small = load_table(path, label="good", **rule)
    as_large(monkeypatch)
    assert_same(small, load_table(path, label="good", **rule))


def test_a_test_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, test = written(tmp_path, "csv"), written(tmp_path, "parquet", seed=1)
    small = load_table(path, label="good", test=test)
    as_large(monkeypatch)
    assert_same(small, load_table(path, label="good", test=test))


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, place = written(tmp_path, "parquet"), tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    as_large(monkeypatch)
    found = load_table(path, label="good")
    assert is_mapped(found.splits.train.ids)
    assert not list(place.iterdir())  # not even while it is in use


def test_no_place_for_a_large_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "parquet")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    as_large(monkeypatch)
    with pytest.raises(FileError, match="TMPDIR"):
        load_table(path, label="good")


def mapped(ids: np.ndarray) -> torch.Tensor:
    file = ArrayFile(ids.shape[1], np.int16)
    for begin in range(0, len(ids), 7):
        file.append(ids[begin : begin + 7])
    return torch.from_numpy(file.mapped())


def test_rows_of_a_mapped_table() -> None:
    schema = Schema.sequence(3, "abcd", ("x", "y"))
    ids = np.random.default_rng(0).integers(0, 4, (50, 3))
    labels, numbers = torch.arange(50) % 2, torch.randperm(50, generator=torch.Generator().manual_seed(0)) * 2
    small, large = (Dataset(schema, part, labels, "data", numbers) for part in (torch.from_numpy(ids), mapped(ids)))
    for rows in (slice(3, 20), torch.tensor([4, 1, 1]), labels == 1, [7, 2], torch.tensor([], dtype=torch.int64)):
        one, two = small.take(rows), large.take(rows)
        assert one.digest == two.digest
        assert torch.equal(one.numbers, two.numbers)
        for a, b in zip(small.batch(rows), large.batch(rows), strict=True):
            assert torch.equal(a, b)
    assert torch.equal(large.places_of(numbers[[5, 9]]), torch.tensor([5, 9]))
    assert large.places_of(torch.tensor([1, 1000])).tolist() == [-1, -1]
    in_order = large.by_number()
    assert in_order.numbers.tolist() == sorted(numbers.tolist())
    assert in_order.by_number() is in_order
    parts = [large.take(slice(0, 20)), large.take(slice(20, 50))]
    joined = Dataset.join(parts)
    assert joined.digest == small.digest
    assert joined.ids.data_ptr() == large.ids.data_ptr()  # the parts follow one another: nothing is copied
    assert (
        Dataset.join(parts[::-1]).digest == Dataset.join([small.take(slice(20, 50)), small.take(slice(0, 20))]).digest
    )


def test_what_a_reader_writes_stays_its_own() -> None:
    table = mapped(np.zeros((4, 3), np.int64))
    again = table.clone()
    again += 1
    assert int(table.sum()) == 0


@pytest.mark.parametrize("sizes", [(3, 2, 4), (40, 50, 60), (2,) * 70, (30000, 30000, 30000, 30000, 3, 3)])
def test_distinct_rows_are_numbered_in_the_same_order(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    ids = np.stack([rng.integers(0, size, 200) for size in sizes], 1)
    ids[100:150] = ids[:50]  # equal rows
    assert torch.equal(distinct_rows(mapped(ids)), distinct_rows(torch.from_numpy(ids)))


def test_an_unknown_category_far_down_is_named_with_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = columns()
    found["shop"][555] = "zzz"
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table(found), path, row_group_size=100)
    rules = TableSchema("good", (ColumnRules("shop", categories=tuple("abcdefgh")), ColumnRules("weight")))
    as_large(monkeypatch)
    with pytest.raises(InputError, match=r"column 'shop' .* got 'zzz' in row 555 of"):
        load_table(path, schema=rules)


def test_a_line_far_down_with_too_few_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "csv")
    lines = path.read_text().splitlines()
    lines[500] = "499,red"
    path.write_text("\n".join(lines) + "\n")
    as_large(monkeypatch)
    with pytest.raises(FileError, match=r"expected 7 fields in line 501 .* got 2"):
        load_table(path, label="good")


def test_damaged_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_large(monkeypatch)
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns()), path, row_group_size=100, compression="zstd")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="expected complete Parquet data"):
        load_table(path, label="good")
    group = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(whole)).metadata.row_group(3).column(2)
    begin = group.dictionary_page_offset or group.data_page_offset
    path.write_bytes(whole[:begin] + bytes(group.total_compressed_size) + whole[begin + group.total_compressed_size :])
    monkeypatch.setattr("hammingbox.data.read_columns._PARQUET_ROWS", 100)
    with pytest.raises(FileError, match="expected complete Parquet data after row 300"):
        load_table(path, label="good")


def test_too_many_distinct_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "parquet")
    monkeypatch.setattr("hammingbox.data.read_columns.MOST_VALUES", 100)
    with pytest.raises(FileError, match="at most 100 distinct values in column 'price'"):
        load_table(path, label="good")
