"""What `data inspect` says about columns: each note on the column that deserves it, and on no other."""

import numpy as np
import pytest

from hammingbox.data.inspection import inspect_table

ROWS = 400


@pytest.fixture(scope="module")
def notes() -> dict[str, str]:
    random = np.random.default_rng(0)
    label = random.integers(0, 2, ROWS)
    months = random.integers(0, 300, ROWS)
    months[:40] = -1
    score = random.integers(0, 60, ROWS)
    score[:25] = 999
    balance = random.integers(-50, 50, ROWS)
    frame = {
        "row": list(range(1000, 1000 + ROWS)),
        "account": [f"A{i * 7919 % 10007}" for i in range(ROWS)],
        "long_id": [12345678901234567890 + i for i in range(ROWS)],
        "amount": random.gamma(2, 50, ROWS).tolist(),
        "refund": (label * 100 + random.random(ROWS)).tolist(),
        "outcome": [["kept", "sent back"][int(y)] for y in label],
        "months": months.tolist(),
        "score": score.tolist(),
        "balance": balance.tolist(),
        "country": ["X"] * ROWS,
        "day": [f"2021-{i % 12 + 1:02d}-01" for i in range(ROWS)],
        "comment": [f"the customer with number {i} called" for i in range(ROWS)],
        "colour": [["red", "green"][int(i)] for i in random.integers(0, 2, ROWS)],
        "y": label.tolist(),
    }
    return {column.name: column.note for column in inspect_table(frame, "y").columns}


def test_identifiers_of_any_type(notes: dict[str, str]) -> None:
    for name in ("row", "account", "long_id"):
        assert "if it is an identifier, leave it out" in notes[name], name
    assert notes["amount"] == "", "measured numbers are all distinct, too"


def test_leaking_columns(notes: dict[str, str]) -> None:
    for name in ("refund", "outcome"):
        assert "alone it predicts the label (balanced accuracy" in notes[name], name
    assert notes["colour"] == ""


def test_codes_for_missing_values(notes: dict[str, str]) -> None:
    assert 'add sentinels = ["-1"]' in notes["months"]
    assert 'add sentinels = ["999"]' in notes["score"]
    assert notes["balance"] == "", "-1 among negative numbers is a number"


def test_constants_dates_and_texts(notes: dict[str, str]) -> None:
    assert "the same in every row" in notes["country"]
    assert "--time splits by them" in notes["day"]
    assert "looks like text: name it with --text" in notes["comment"]
