"""threat.toml: what it says, and one sentence with file, line and remedy for everything that is wrong in it."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError
from hammingbox.threat.rules.prices import CANNOT
from hammingbox.threat.threat_file import ThreatFile, read_threat
from toys.shop import rows, shop

GOOD = """\
unit = 0.1
currency = "EUR"
changes = 3
budgets = ["1 EUR", 0.2, 30]

[columns.city]
price = 0.5
[columns.country]
price = 0
[columns.net]
up = 0.1
down = 0.2
step = 1
[columns.tax]
price = 0.3
most_steps = 1
[columns.ordered]
price = 0.1
window = [7, 7]
range = [2020-02-28, "*"]
[columns.shipped]
pairs = [[2020-03-01, "*", 0.1], ["*", "*", "cannot"]]
[columns.card]
write = { true = 10, false = 0.1 }
[columns."*"]
frozen = true

[gain]
column = "net"
margin = 0.7

[[derived]]
column = "total"
formula = "net + tax"

[[relations]]
kind = "determines"
by = "city"
column = "country"
[[relations]]
name = "parcels follow orders"
kind = "formula"
formula = "ordered <= shipped"
[[relations]]
kind = "combinations"
columns = ["size", "card"]
allowed = [["medium", true], ["small", "false"]]
"""


def data() -> Dataset:
    ids = rows({}, {"city": "Lyon"}, {"city": "Rome", "country": "Italy"}, {"city": "Milan", "country": "Italy"},
               {"net": "4", "total": "5"}, {"size": "small", "card": "false"})  # fmt: skip
    return Dataset(shop(), ids, torch.tensor([0, 1, 0, 1, 0, 1]))


def read(text: str, folder: Path, schema: Schema | None = None) -> ThreatFile:
    file = folder / "threat.toml"
    file.write_text(text)
    return read_threat(file, schema or shop(), data())


def test_a_whole_file(tmp_path: Path) -> None:
    found = read(GOOD, tmp_path)
    rules = found.rules
    assert found.budgets == (2, 10, 300)
    assert rules.unit is not None
    assert rules.unit.text(2) == "0.2 EUR"
    assert rules.changes == 3
    x = rows(*[{}] * 7)
    written = rows(
        {"city": "Lyon"}, {"net": "5"}, {"net": "1"}, {"tax": "3"}, {"shipped": "2020-03-08"}, {"card": "false"},
        {"size": "small"},
    )  # fmt: skip
    assert rules.bill(x, written).sum(1).tolist() == [5, 3, 2, -1, 1, 1, -1]
    assert rules.bill(x, rows(*[{"ordered": "2020-03-08"}] * 7))[0, 5] == CANNOT, "8 days later"
    worth = rules.allowance(x)
    assert worth is not None
    assert worth.tolist() == [13] * 7
    assert [relation.name for relation in rules.relations] == [
        "city decides country", "parcels follow orders", "combinations of size, card",
    ]  # fmt: skip
    again = type(rules).from_json(rules.to_json(), shop())
    assert again.to_json() == rules.to_json()


def test_what_the_data_decides_is_stored_whole(tmp_path: Path) -> None:
    table = read(GOOD, tmp_path).rules.to_json()["relations"][0]["table"]
    assert sorted(table) == [["Lyon", "France"], ["Milan", "Italy"], ["Paris", "France"], ["Rome", "Italy"]]


def test_without_prices_the_budget_counts_changes(tmp_path: Path) -> None:
    found = read('budgets = [1, 3]\n[columns.net]\ndirection = "grows"\n[columns."s*"]\nfrozen = true\n', tmp_path)
    assert found.budgets == (1, 3)
    assert found.rules.unit is None
    bill = found.rules.bill(rows({}, {}, {}), rows({"net": "3"}, {"net": "1"}, {"size": "large", "city": "Rome"}))
    assert bill.sum(1).tolist() == [1, -1, 0]
    assert read("", tmp_path).rules.bill(rows({}), rows({"net": "3"})).sum() == 1, "an empty file is the paper's L0"


def test_positions_of_a_sequence(tmp_path: Path) -> None:
    schema = Schema.sequence(6, "ACGT", ["x", "y"])
    file = tmp_path / "threat.toml"
    file.write_text('positions = "2-3, 6"\n')
    rules = read_threat(file, schema).rules
    x = torch.zeros(1, 6, dtype=torch.int64)
    assert rules.bill(x, x + 1).tolist() == [[-1, 1, 1, -1, -1, 1]]
    file.write_text('unit = 1\npositions = "2-3"\n[columns."*"]\nprice = 2\n')
    assert read_threat(file, schema).rules.bill(x, x + 1).tolist() == [[-1, 2, 2, -1, -1, -1]]


def test_the_longest_pattern_counts(tmp_path: Path) -> None:
    text = 'unit = 1\n[columns."*"]\nprice = 1\n[columns."c*"]\nprice = 2\n[columns.card]\nprice = 3\n'
    assert {r.column: r.price for r in read(text, tmp_path).rules.columns} == {
        "city": 2, "country": 2, "net": 1, "tax": 1, "total": 1, "ordered": 1, "shipped": 1, "card": 3, "size": 1,
    }  # fmt: skip


DEAR = "[[relations]]\nkind = 'formula'\nformula = 'net > 2'\n"
PAIRS = "[[relations]]\nkind = 'combinations'\ncolumns = ['size', 'city']\n"
TOTAL = "[[derived]]\ncolumn = 'total'\n"

BAD: list[tuple[str, int, str]] = [
    ("unit = 0", 1, "positive amount"),
    ('unit = "many"', 1, "positive amount"),
    ('currency = "EUR"', 1, "expected a unit"),
    ("\nuint = 1", 2, "Did you mean 'unit'"),
    ("unit = 1\n", 1, "price for every column, got none for 'city' and 8 more"),
    ("budgets = [0]", 1, "whole number of at least 1"),
    ("budgets = [0.5]", 1, "budgets without a unit as a whole number of at least 1, got 0.5"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[columns.city]\nwrite = { "Rom" = 2 }', 4, "Did you mean 'Rome'"),
    ('[[relations]]\nkind = "seen_together"\ncolumns = "*"\nranges = 3', 1, "ranges = true or false"),
    ("budgets = [1, 1]", 1, "distinct budgets"),
    ('unit = 0.1\n[columns."*"]\nprice = 1\n[columns.net]\nprice = -1', 5, "amount of at least 0, got -1"),
    ('unit = 0.1\n[columns."*"]\nprice = 0.25', 3, "multiple of the unit 0.1, got 0.25"),
    ('unit = 0.1\n[columns."*"]\nprice = "free"', 3, "amount such as 0.1"),
    ('unit = 0.1\ncurrency = "EUR"\nbudgets = ["1 USD"]\n[columns."*"]\nprice = 1', 3, "amount in EUR, got '1 USD'"),
    ('unit = 0.1\nbudgets = [0.05]\n[columns."*"]\nprice = 1', 2, "multiple of the unit"),
    ("[columns.net]\nprice = 1", 2, "expected a unit"),
    ("[columns.nett]\nfrozen = true", 1, "Did you mean 'net'"),
    ('[columns."x*"]\nfrozen = true', 1, "some column matches"),
    ('[columns."ci*"]\nfrozen = true\n[columns."*ty"]\nfrozen = true', 3, "expected one rule for column 'city'"),
    ("[columns.net]\npirce = 1", 2, "Did you mean 'price'"),
    ("[columns.net]\nfrozen = false", 2, "frozen = true"),
    ('[columns.net]\nfrozen = true\ndirection = "grows"', 1, "frozen column"),
    ('[columns.net]\ndirection = "up"', 1, "'grows' or 'shrinks'"),
    ('[columns.net]\n\ndirection = "grows"\nrange = ["*", 0]', 1, "allow none"),
    ("[columns.net]\nrange = [3]", 2, "range as"),
    ("[columns.net]\nrange = [3, 1]", 1, "from low to high"),
    ("[columns.city]\nrange = [1, 2]", 1, "range only in columns of numbers"),
    ("[columns.net]\nmost_steps = 0", 2, "at least 1"),
    ("[columns.net]\nmost_steps = 1", 1, "size of a step"),
    ("[columns.net]\nwindow = 3", 1, "window only in columns of dates"),
    ('[columns.size]\nwrite = { hugee = "cannot" }', 1, "expected a category of column 'size'"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[columns.size]\nwrite = { large = 1 }', 4, "price for every change"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[columns.size]\nup = 1', 4, "no price for steps down"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[columns.size]\nup = 1\ndown = 1\nprice = 1', 4, "price or up and down"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[columns.size]\npairs = [["small", 1]]', 5, r"\[from, to, price\]"),
    ("columns = 3", 1, "columns as tables"),
    ("[columns]\nnet = 3", 2, "entries below"),
    ("changes = 0", 1, "changes as a whole number"),
    ('positions = "0-3"', 1, "positions between 1 and 9"),
    ('positions = "1-3"\n[columns.size]\ndirection = "grows"', 2, "which positions leaves out"),
    ("[gain]\nvalue = 3", 2, "expected a unit"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[gain]\ncolumn = "city"', 5, "column of numbers as gain"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[gain]\nmargin = 1', 4, "column or a value"),
    ('unit = 1\n[columns."*"]\nprice = 1\n[gain]\ncolum = "net"', 4, "Did you mean 'column'"),
    ("relations = 3", 1, r"\[\[relations\]\]"),
    ("[[relations]]\nkind = 3", 1, "kind of relation"),
    ('[[relations]]\nkind = "formul"\nformula = "net > 1"', 1, "Did you mean 'formula'"),
    ('[[relations]]\nkind = "formula"', 1, "expected the entry 'formula'"),
    ('[[relations]]\nkind = "formula"\nformula = "nett > 1"', 1, "Did you mean 'net'"),
    ('[[relations]]\nkind = "formula"\nformula = "net > 1"\nif = "a"', 1, "entry of a relation of kind formula"),
    ('[[relations]]\nkind = "formula"\nformula = "net > 6"', 1, "0 of 6 rows keep"),
    ('[[relations]]\nkind = "formula"\nformula = "net > 2"\nagree = 0.5', 1, "0.5 of the rows keep.*1 of 6 rows keep"),
    (DEAR + '[[relations]]\nkind = "formula"\nformula = "net < 3"', 4, "contradict"),
    (DEAR + DEAR, 4, "twice"),
    (PAIRS + 'allowed = [["large", "Rome"]]', 1, "0 of 6 rows"),
    (PAIRS + 'allowed = [["large", "Rom"]]', 1, "Did you mean 'Rome'"),
    ('[[relations]]\nkind = "combinations"\ncolumns = ["size", "city"]\nallowed = "rows"', 1, '"data" or as a list'),
    ('[[relations]]\nkind = "determines"\nby = ["city"]\ncolumn = "city"', 1, "each column once"),
    ('[[relations]]\nkind = "function"\nfunction = "os:remove"\ncolumns = ["net"]', 1, "no file runs code"),
    ('[[relations]]\nkind = "one_hot"\ncolumns = ["city", "card"]', 1, "which value means on"),
    ('[[derived]]\ncolumn = "total"\nformula = "net * tax"', 1, "another value in 6 of 6 rows, such as '3' in row 0"),
    (TOTAL + 'formula = "net + 1"\n' + TOTAL + 'formula = "tax + 2"', 4, "got two"),
    (TOTAL + 'formula = "net + tax"\n[columns.total]\nfrozen = true', 4, "derived column costs nothing"),
    ('[[derived]]\ncolumn = "total"', 1, "got neither"),
    ('[[derived]]\ncolumn = "total"\nformula = "net + tax"\nby = ["net"]', 1, "got both"),
    ('[[derived]]\ncolumn = "country"\nby = ["size"]', 1, "another value in 2 of 6 rows"),
    ('[[derived]]\nformula = "net"', 1, "column of a derived column"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_one_sentence_with_file_line_and_reason(text: str, line: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message) as caught:
        read(text, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'threat.toml'}, line {line}: expected "), said
    assert "\n" not in said
    assert "Decimal" not in said


def test_what_is_no_toml(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"line 2"):
        read("unit = 1\ncolumns = = 2\n", tmp_path)
    with pytest.raises(FileError, match="readable file"):
        read_threat(tmp_path / "none.toml", shop())


def test_rows_are_needed_for_what_the_data_decides(tmp_path: Path) -> None:
    file = tmp_path / "threat.toml"
    file.write_text('[[relations]]\nkind = "determines"\nby = ["city"]\ncolumn = "country"\n')
    with pytest.raises(FileError, match="line 1: expected rows to take"):
        read_threat(file, shop())


def test_a_function_that_its_owner_passes(tmp_path: Path) -> None:
    file = tmp_path / "threat.toml"
    file.write_text('[[relations]]\nkind = "function"\nfunction = "mine:few"\ncolumns = ["net"]\n')
    rules = read_threat(file, shop(), data(), functions={"mine:few": lambda written, _clean: written["net"] < 5}).rules
    assert rules.hold(rows({}, {}), rows({"net": "3"}, {"net": "6"})).tolist() == [True, False]


NONSENSE = ["-1", "[]", "{}", '""', "nan", "1e999", "true", '"*"', "2020-01-01", "12:00:00", "[[1]]", "9" * 30]


@given(data_of=st.data())
def test_a_damaged_file_is_read_or_refused(data_of: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lines are dropped, doubled, exchanged and cut, and words replaced: never anything but a `FileError`."""
    lines = GOOD.splitlines()
    for _ in range(data_of.draw(st.integers(1, 4))):
        place = data_of.draw(st.integers(0, len(lines) - 1))
        change = data_of.draw(st.sampled_from(["drop", "double", "swap", "cut", "word"]))
        if change == "drop":
            lines[place] = ""
        elif change == "double":
            lines.insert(place, lines[place])
        elif change == "swap":
            other = data_of.draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
        elif change == "cut":
            lines[place] = lines[place][: data_of.draw(st.integers(0, len(lines[place])))]
        else:
            new = data_of.draw(st.sampled_from(NONSENSE))
            lines[place] = re.sub(r"= .*", f"= {new}", lines[place])
    said = ""
    try:
        read("\n".join(lines), tmp_path_factory.mktemp("damaged"))
    except FileError as error:
        said = str(error)
    assert not said or re.search(r"line \d+", said) or "TOML" in said


def test_what_the_data_never_shows_can_be_forbidden(tmp_path: Path) -> None:
    rules = read('[[relations]]\nkind = "seen_together"\ncolumns = ["size", "card"]\n', tmp_path).rules
    x = rows({}, {})
    assert rules.hold(x, rows({"size": "small"}, {"size": "small", "card": "false"})).tolist() == [False, True]
    assert rules.groups == (), "it is checked point by point"
    assert read('[[relations]]\nkind = "seen_together"\ncolumns = "*"\n', tmp_path).rules.relations[0].columns == tuple(
        range(9)
    )


def test_amounts_stay_exact(tmp_path: Path) -> None:
    found = read('unit = "0.01"\nbudgets = [0.07, 0.1]\n[columns."*"]\nprice = 0.29\n', tmp_path)
    assert found.budgets == (7, 10)
    assert {rule.price for rule in found.rules.columns} == {29}
    assert found.rules.unit is not None
    assert found.rules.unit.tick == Decimal("0.01")
