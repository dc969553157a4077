"""Columns of a user's table that are numbers, dates and booleans, from the file to what an attacker may write."""

from pathlib import Path

import numpy as np
import pytest

from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.offers import Offer
from hammingbox.data.schema_file import read_schema
from hammingbox.data.table import LoadedTable, load_table, read_table
from hammingbox.data.table_schema import TableSchema
from hammingbox.errors import FileError, InputError
from hammingbox.threat.table_space import TableSpace


def purchases(rows: int = 200) -> dict[str, list[object]]:
    """Amounts with a missing value and a code, ages, days, flags, a colour and a label."""
    random = np.random.default_rng(0)
    amount: list[object] = [round(float(x), 2) for x in random.gamma(2, 30, rows)]
    amount[3], amount[4:10] = None, [-1] * 6
    return {
        "amount": amount,
        "age": random.integers(18, 80, rows).tolist(),
        "day": [f"2020-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(rows)],
        "paid": [bool(i % 3) for i in range(rows)],
        "colour": [["red", "green", "blue"][i % 3] for i in range(rows)],
        "fraud": [["no", "yes"][int(i % 7 == 0)] for i in range(rows)],
    }


def loaded(*columns: ColumnRules, unknown: str = "error") -> LoadedTable:
    return load_table(purchases(), schema=TableSchema("fraud", columns, unknown=unknown))


def test_inference_keeps_numbers_numbers() -> None:
    table = load_table(purchases(), label="fraud")
    kinds = {feature.name: feature.kind for feature in table.splits.schema.features}
    assert kinds == {"amount": "number", "age": "number", "day": "date", "paid": "boolean", "colour": "category"}
    amount = table.splits.schema.features[0]
    assert amount.categories[-1] == "<missing>"
    rows = np.array([float("nan") if value is None else value for value in purchases()["amount"]], dtype=float)
    numbers = table.splits.train.numbers.numpy()
    assert np.array_equal(amount.numbers[table.splits.train.ids[:, 0]], rows[numbers], equal_nan=True), "exact values"


def test_quantiles_are_observed_values_from_the_smallest_to_the_largest() -> None:
    values = [value for value in purchases()["amount"] if isinstance(value, float)]
    table = loaded(ColumnRules("amount", kind="number", candidates="quantiles:4", sentinels=("-1",)))
    offered = [float(text) for text in table.schema.options["amount"]]
    assert offered == np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="higher").tolist()
    assert table.schema.forbidden == {"amount": ["-1", "<missing>"]}
    with_code = loaded(ColumnRules("amount", kind="number", candidates="quantiles:4"))
    assert with_code.schema.options["amount"][0] == "-1", "a code that nobody declared is a value"


def test_codes_stay_what_they_are() -> None:
    frame = purchases()
    frame["amount"][10:13] = ["?", "?", "?"]
    with pytest.raises(
        InputError,
        match=r"a number in column 'amount', got '\?' in row 10 .* list it under sentinels.* data inspect FILE",
    ):
        load_table(frame, schema=TableSchema("fraud", (ColumnRules("amount", kind="number"),)))
    rules = ColumnRules("amount", kind="number", sentinels=("?", "-1"))
    table = load_table(frame, schema=TableSchema("fraud", (rules,)))
    feature = table.splits.schema.features[0]
    assert feature.categories[-2:] == ("?", "<missing>")
    assert feature.categories[0] == "-1"
    offered = table.schema.options["amount"]
    assert not {"?", "-1", "<missing>"} & set(offered)
    allowed = ColumnRules("amount", kind="number", sentinels=("-1",), candidates=("-1", "<missing>", "50"))
    space = TableSpace.of(loaded(allowed).schema)
    assert space.options["amount"] == ("-1", "<missing>", "50"), "a code that is listed as a candidate is one"


def test_steps_and_lists_add_values() -> None:
    table = loaded(ColumnRules("age", kind="number", steps=(-1.0, 0.5)), ColumnRules("day", kind="date", steps=(7.0,)))
    age = table.splits.schema.features[0]
    ages = {float(str(value)) for value in purchases()["age"]}
    reached = {a + s for a in ages for s in (-1, 0.5) if min(ages) <= a + s <= max(ages)}
    assert set(age.numbers.tolist()) == ages | reached
    assert table.schema.options == {"age": (), "day": ()}, "steps replace the default"
    assert TableSpace.of(table.schema).candidates(table.splits.test.ids.long()).layout.widths.tolist() == [3, 2]
    listed = loaded(ColumnRules("age", kind="number", candidates=("200", "18.0")))
    assert listed.splits.schema.features[0].categories[-1] == "200", "a candidate need not have been observed"


def test_frequent_and_observed_categories() -> None:
    table = loaded(ColumnRules("colour", candidates="frequent:2", sentinels=("red",)), ColumnRules("age"))
    assert table.schema.options == {"colour": ("green", "blue")}
    assert not loaded(ColumnRules("age"), ColumnRules("paid", kind="boolean")).schema.options
    everything = loaded(ColumnRules("age", kind="number", candidates="observed"))
    widths = TableSpace.of(everything.schema).candidates(everything.splits.test.ids.long()).layout.widths
    assert widths.tolist() == [1 + len(set(purchases()["age"]))]


def test_what_does_not_fit_a_kind() -> None:
    with pytest.raises(InputError, match="quantiles only for numbers and dates, got them for column 'c'"):
        ColumnRules("c", candidates="quantiles:3")
    with pytest.raises(InputError, match=r"candidates of column 'c' as .* got 'quantiles'"):
        Offer.of("c", "quantiles", default="observed")
    with pytest.raises(InputError, match="expected a number as candidate of column 'c', got 'many'"):
        ColumnRules("c", kind="number", candidates=("1", "many"))
    with pytest.raises(InputError, match="steps only in columns of numbers or dates"):
        ColumnRules("c", steps=(1.0,))
    with pytest.raises(InputError, match="categories and bins only in category columns"):
        ColumnRules("c", kind="number", categories=("1",))
    with pytest.raises(InputError, match=r"known kind of column 'c' .* got 'int'"):
        ColumnRules("c", kind="int")


def test_a_file_may_write_values_as_toml_does(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        'label = "fraud"\n[[columns]]\nname = "age"\nkind = "number"\ncandidates = [20, 30.5, "<missing>"]\n'
        'missing = true\nsentinels = [-1]\nforbidden = [18]\n[[columns]]\nname = "day"\nkind = "date"\n'
        'candidates = [2020-01-01, 2020-05-01T10:00:00]\n[[columns]]\nname = "paid"\nkind = "boolean"\n'
        "forbidden = [true]\n"
    )
    age, day, paid = read_schema(path).columns
    assert paid.forbidden == ("true",)
    assert (age.candidates, age.sentinels, age.forbidden) == (("20", "30.5", "<missing>"), ("-1",), ("18",))
    assert day.candidates == ("2020-01-01", "2020-05-01 10:00:00")
    space = TableSpace.of(load_table(purchases(), schema=path).schema)
    assert space.to_json()["options"]["day"] == list(day.candidates)
    for entry in ("steps = [nan]", "candidates = 3.5", "kind = ['number']", "sentinels = '-1'"):
        path.write_text(f'label = "fraud"\n[[columns]]\nname = "age"\n{entry}\n')
        with pytest.raises(FileError, match="expected"):
            read_schema(path)


def test_new_rows_under_a_known_schema() -> None:
    """A number that no row had needs a new schema: an old one has no id for it."""
    table = loaded(ColumnRules("age", kind="number"), ColumnRules("colour"))
    new = {"age": [33.25], "colour": ["red"], "fraud": ["no"]}
    with pytest.raises(InputError, match=r"value of column 'age' .* got '33.25' in row 0 .* load_table\(train, test="):
        read_table(new, table.schema)
    together = load_table(purchases(), schema=table.schema, test=new)
    assert together.splits.schema.decode(together.splits.test.ids[0].tolist()) == ("33.25", "red")
    with pytest.raises(InputError, match=r"known category of column 'colour' .* got 'mauve'"):
        load_table(purchases(), schema=table.schema, test=new | {"colour": ["mauve"]})
    tolerant = TableSchema("fraud", (ColumnRules("age", kind="number"), ColumnRules("colour")), unknown="category")
    odd = load_table(purchases(), schema=tolerant, test={"age": ["old"], "colour": ["mauve"], "fraud": ["no"]})
    assert odd.splits.schema.decode(odd.splits.test.ids[0].tolist()) == ("<unknown>", "<unknown>")
