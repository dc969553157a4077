"""A table's values stay numbers until they are printed."""

import csv
import io

import pytest

from hammingbox.report.artefacts.table import Column, Interval, Table

COLUMNS = (
    Column.text("attack_1"),
    Column.number("ε"),
    Column.number("success %", ".1f"),
    Column.interval("± rows", ".0f", separator="-"),
    Column.number("passes", ",.0f"),
)
TABLE = Table(
    "50 % of R&D",
    COLUMNS,
    (("a|b", 1, 65.21739, Interval(51.06, 77.3), 23165.4), ("c_d", 2, None, None, None)),
    notes=("a note",),
)


def test_texts_are_rounded_and_missing_values_are_dashes() -> None:
    assert TABLE.texts() == [("a|b", "1", "65.2", "51-77", "23,165"), ("c_d", "2", "-", "-", "-")]
    assert TABLE.headings == ("attack_1", "ε", "success %", "± rows", "passes")
    assert TABLE.column("success %") == [65.21739, None]
    assert Column.interval("95 % interval", ".1f").to_text(Interval(1.0, 2.0)) == "1.0 to 2.0"


def test_the_csv_holds_full_numbers() -> None:
    header, first, second = csv.reader(io.StringIO(TABLE.csv()))
    assert header == ["attack_1", "ε", "success %", "± rows low", "± rows high", "passes"]
    assert first[0] == "a|b"
    assert [float(value) for value in first[1:]] == [1, 65.21739, 51.06, 77.3, 23165.4]
    assert second == ["c_d", "2", "", "", "", ""]


def test_markdown_and_latex_align_numbers_right() -> None:
    assert "| --- | ---: | ---: | ---: | ---: |\n" in TABLE.markdown()
    assert r"| a\|b | 1 | 65.2 | 51-77 | 23,165 |" in TABLE.markdown()
    assert TABLE.markdown().endswith("\n- a note\n")
    latex = TABLE.latex("tab:x")
    assert r"\begin{tabular}{lrrrr}" in latex
    assert r"attack\_1 & $\epsilon$ & success \% & $\pm$ rows & passes \\" in latex
    assert r"50 \% of R\&D" in latex
    assert r"\label{tab:x}" in latex
    assert r"\label" not in TABLE.latex()


@pytest.mark.parametrize(
    ("row", "error", "sentence"),
    [
        (("a", 1, 2.0, None), ValueError, "expected 5 values per row, got 4"),
        ((3, 1, 2.0, None, 1.0), TypeError, "expected a text under 'attack_1', got 3"),
        (("a", "1", 2.0, None, 1.0), TypeError, "expected a number under 'ε', got '1'"),
        (("a", 1, 2.0, "33-47", 1.0), TypeError, "expected an interval under"),
        (("a", 1, Interval(1.0, 2.0), None, 1.0), TypeError, "expected a number under 'success %'"),
    ],
)
def test_a_value_of_another_kind_is_refused(row: tuple[object, ...], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        Table("t", COLUMNS, (row,))  # type: ignore[arg-type]


def test_columns_of_the_csv_have_distinct_names() -> None:
    twice = (Column.text("attack"), Column.number("growth"), Column.number("growth", ".2f"))
    with pytest.raises(ValueError, match="expected columns with distinct names"):
        Table("t", twice, ())
    named = Table("t", (*twice[:2], Column.number("growth", ".2f", name="growth by formula")), (("a", 1, 0.5),))
    assert named.csv() == "attack,growth,growth by formula\na,1,0.5\n"
    assert named.markdown().count("growth") == 2
