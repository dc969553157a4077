"""A user's table: loaded under an inferred or edited schema, which is enforced."""

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox.data.inspection import inspect_table
from hammingbox.data.read_columns import read_columns
from hammingbox.data.schema_file import read_schema, write_schema
from hammingbox.data.table import load_table, read_table
from hammingbox.errors import FileError, InputError
from hammingbox.threat.masked_space import MaskedSpace
from toys.tables import fruit, write_csv


def test_an_edited_schema_is_enforced(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "fruit.csv", fruit())
    toml = tmp_path / "schema.toml"
    write_schema(inspect_table(path, "bought").schema, toml)

    *head, colour, size, weight, end = toml.read_text().splitlines()
    assert weight == '    { name = "weight", kind = "number", candidates = "quantiles:10" },', "a column is one line"
    colour = colour.replace(" }", ", immutable = true }")
    size = size.replace(" }", ', forbidden = ["<missing>"] }')
    weight = '    { name = "weight", bins = [40, 60.5] },'
    toml.write_text("\n".join([*head, weight, colour, size, end]))

    table = load_table(path, schema=toml)
    schema = table.splits.schema
    assert [f.name for f in schema.features] == ["weight", "colour", "size"], "in the order of the schema file"
    assert schema.features[0].categories == ("< 40", "40 .. 60.5", ">= 60.5")
    space = MaskedSpace(schema, immutable=table.schema.immutable, forbidden=table.schema.forbidden)
    x, _ = table.splits.test.batch(slice(None))
    candidates = space.candidates(x)
    changed = x.clone()
    changed[:, 1] = (x[:, 1] + 1) % 3
    assert not bool(candidates.contains(changed).any()), "an immutable column"
    changed = x.clone()
    changed[:, 2] = schema.category_id(2, "<missing>")
    assert torch.equal(candidates.contains(changed), x[:, 2] == changed[:, 2]), "a forbidden category"
    assert bool((x[:, 2] != changed[:, 2]).any())


def test_an_unknown_value_is_an_error_or_a_category(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "train.csv", fruit())
    schema = inspect_table(train, "bought").schema
    new = write_csv(tmp_path / "new.csv", [["red", "1", "50", "no"], ["mauve", "2", "51", "yes"]])
    with pytest.raises(InputError, match=r"category of column 'colour' \(blue, green, red\), got 'mauve' in row 1 of"):
        read_table(new, schema)
    toml = tmp_path / "schema.toml"
    write_schema(schema, toml)
    toml.write_text(toml.read_text().replace('unknown = "error"', 'unknown = "category"'))
    tolerant = read_schema(toml).complete(read_columns(train))
    data = read_table(new, tolerant)
    assert [data.schema.decode(row)[0] for row in data.ids.tolist()] == ["red", "<unknown>"]
    space = MaskedSpace(tolerant.schema, forbidden=tolerant.forbidden)
    written = data.batch(slice(None))[0].clone()
    written[0, 0] = 3
    allowed = space.candidates(data.batch(slice(None))[0]).contains(written)
    assert allowed.tolist() == [False, True], "an attacker cannot write <unknown>, but a clean row may have it"


def test_categories_that_were_deleted_come_from_the_file(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "fruit.csv", fruit())
    toml = tmp_path / "schema.toml"
    toml.write_text('label = "bought"\n[[columns]]\nname = "weight"\n[[columns]]\nname = "size"\n')
    assert load_table(path, schema=toml).splits.schema.cardinalities == (len({r[2] for r in fruit()}), 4)


def test_ten_thousand_categories_stay_small(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    codes = np.concatenate([np.arange(10_000), random.integers(10_000, size=5_000)])
    rows = [[f"merchant {i}", "ab"[int(random.integers(2))], "xy"[i % 2]] for i in codes]
    path = write_csv(tmp_path / "big.csv", rows, ["merchant", "kind", "fraud"])
    tracemalloc.start()
    table = load_table(path, label="fraud")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.splits.schema.cardinalities == (10_000, 2)
    assert peak < 16e6, "about 10,000 texts and two integers per row"


BAD_LABELS = {
    "one class": (b"a,y\n1,no\n2,no\n", "at least two classes in the label column 'y' .* got only 'no'"),
    "no class": (b"a,y\n1,\n2,\n", "at least two classes in the label column 'y' .* got none"),
    "a row without a class": (b"a,y\n1,no\n2,\n3,yes\n", "classes no, yes .* got '' in row 1"),
    "another label": (b"a,yy\n1,no\n2,yes\n", "label column of .* got 'y'. Did you mean 'yy'"),
    "too few rows": (b"a,y\n1,no\n2,yes\n", "enough distinct rows in .* got 2"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_a_table_that_cannot_be_used_is_one_clear_sentence(case: str, tmp_path: Path) -> None:
    content, message = BAD_LABELS[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_table(path, label="y")
    assert "\n" not in str(caught.value)


def test_a_table_needs_a_label_or_a_schema(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the label column or a schema, got neither"):
        load_table({"a": [1], "y": [1]})
    with pytest.raises(FileError, match=r"expected a readable file at .*none.toml"):
        load_table({"a": [1], "y": [1]}, schema=tmp_path / "none.toml")


def test_a_table_can_be_sent_to_another_process() -> None:
    columns = list(zip(*fruit(), strict=True))
    table = load_table({"colour": columns[0], "weight": columns[2], "bought": columns[3]}, label="bought")
    again = pickle.loads(pickle.dumps(table))
    assert again.schema == table.schema
    assert again.schema.schema.digest == table.splits.schema.digest
    assert again.splits.test.digest == table.splits.test.digest
