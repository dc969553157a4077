"""Codes for missing values that an attacker may write are named, with the broken rows that have them."""

import pytest
import torch

from hammingbox import Dataset, Feature, FullSpace, MaskedSpace, Schema
from hammingbox.data.column_notes import missing_codes
from hammingbox.evaluation.diagnose import diagnose_codes

INCOME = Feature("income", ("-999", "800", "900", "1000", "2000", "3000"), "number")
SCHEMA = Schema((INCOME, Feature("region", ("north", "south", "unknown"))), ("bad", "good"))
ROWS = Dataset(SCHEMA, torch.tensor([[1, 0], [2, 1]]), torch.tensor([0, 1]))


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (["-20", "-3.5", "0", "12", "40", "-999", "9999"], ["-999", "9999"]),
        (["0", "1", "2", "3", "-1"], ["-1"]),
        (["-2", "-1", "0", "1", "2", "3"], []),
        (["0", "30", "60", "90", "99"], []),
        (["10", "20", "30", "40", "?", "999"], ["?", "999"]),
        (["north", "south", "Unknown"], ["Unknown"]),
        (["north", "-999", "a", "b", "c", "d"], []),
    ],
)
def test_what_looks_like_a_code(values: list[str], codes: list[str]) -> None:
    assert missing_codes(values) == codes


def test_codes_that_may_be_written() -> None:
    (found,) = diagnose_codes(ROWS, FullSpace(SCHEMA), {(0, 0): 7})
    assert (found.severity, found.slug) == ("warning", "missing-value-codes")
    assert "'income' -999 (written in 7 broken rows), 'region' unknown (written in 0 broken rows)" in found.seen


def test_a_word_is_a_note_and_so_is_a_code_that_no_broken_row_has() -> None:
    for written in ({(1, 2): 7}, {}, None):
        (found,) = diagnose_codes(ROWS, FullSpace(SCHEMA), written)
        assert found.severity == "note"
    assert "broken" not in found.seen, "nobody counted"


def test_a_code_that_nobody_may_write_is_not_named() -> None:
    (found,) = diagnose_codes(ROWS, MaskedSpace(SCHEMA, immutable=["income"]), {})
    assert "income" not in found.seen
    assert diagnose_codes(ROWS, MaskedSpace(SCHEMA, immutable=["income"], forbidden={"region": ["unknown"]}), {}) == []


def test_texts_have_words_and_no_codes() -> None:
    schema = Schema.sequence(2, ("good", "unknown", "?"), ("bad", "good"))
    assert diagnose_codes(Dataset(schema, torch.tensor([[0, 0]]), torch.tensor([0])), FullSpace(schema), {}) == []
