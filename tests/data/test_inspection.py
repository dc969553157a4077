"""The inspection of a table: the inferred schema, counts and notes."""

from pathlib import Path

import pytest

from hammingbox.data.inspection import inspect_table
from hammingbox.errors import InputError
from toys.tables import fruit, write_csv


def test_the_inferred_schema_and_the_counts(tmp_path: Path) -> None:
    rows = fruit()
    found = inspect_table(write_csv(tmp_path / "fruit.csv", rows), "bought")
    colour, size, weight = found.columns
    assert (found.rows, found.distinct_rows) == (200, len({tuple(r[:3]) for r in rows}))
    assert found.classes == {name: sum(r[3] == name for r in rows) for name in ("no", "yes")}
    assert (colour.kind, colour.cardinality, colour.missing) == ("category", 3, 0)
    assert (size.cardinality, size.missing) == (4, sum(r[1] == "" for r in rows))
    assert found.schema.columns[1].words == ("1", "2", "10", "<missing>"), "numbers are in numerical order"
    assert (weight.kind, weight.cardinality) == ("number", weight.distinct)
    assert weight.distinct == len({r[2] for r in rows})
    counts = [(c, sum(r[0] == c for r in rows)) for c in ("red", "green", "blue")]
    assert colour.most_common == max(counts, key=lambda pair: pair[1])


def test_rare_categories_are_counted() -> None:
    values = ["common"] * 30 + ["rare"] * 9 + ["ten"] * 10
    found = inspect_table({"a": values, "y": [i % 2 for i in range(49)]}, "y")
    assert (found.columns[0].rare, found.columns[0].most_common) == (1, ("common", 30))


def test_notes_warn_about_columns_that_do_not_help(tmp_path: Path) -> None:
    rows = [[f"id{i}", "same", "?" if i % 3 else "b", "ab"[i % 2], "xy"[i % 2]] for i in range(300)]
    found = inspect_table(write_csv(tmp_path / "t.csv", rows, ["id", "k", "q", "fine", "y"]), "y")
    notes = [column.note for column in found.columns]
    assert "identifier" in notes[0]
    assert "same in every row" in notes[1]
    assert "looks like a missing value" in notes[2]
    assert notes[3] == ""


def test_a_label_with_too_many_values_is_refused() -> None:
    with pytest.raises(InputError, match="at most 1000 classes in the label column 'y', got 1001"):
        inspect_table({"a": [1] * 1001, "y": list(range(1001))}, "y")
