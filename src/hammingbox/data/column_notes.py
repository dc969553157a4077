"""What to look at in a column before training: identifiers, leaks, codes for missing values, texts, constants."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Integer

from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.columns import Column
from hammingbox.data.values import MISSING, number_of, numbers_of

_LOOKS_MISSING = frozenset({"?", "na", "n/a", "nan", "null", "none", "-", "unknown"})
_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
_FEWEST_CODES = 3
"""Rows with a code below which it may be a value by chance."""
_LEAK = 0.95
"""Balanced accuracy of a column alone from which on it may hold what is known only after the label."""
_LEAST_ROWS = 50
_BINS = 50
_TEXT_WORDS = 4
"""Words of a typical value from which on a column of mostly distinct values is a text."""


def notes_of(column: Column, rules: ColumnRules, labels: Integer[np.ndarray, "rows"]) -> list[str]:
    """Sentences about a column, the most important first.

    Args:
        column: the rows.
        rules: its kind and what it may hold.
        labels: class ids of the rows.
    """
    if len(column.values) == 1:
        return ["the same in every row: a model learns nothing from it"]
    if is_text(column):
        return ["looks like text: name it with --text, or leave it out"]
    found = []
    if _is_identifier(column, rules):
        found.append("nearly every row has its own value: if it is an identifier, leave it out")
    elif (share := alone(column, rules, labels)) >= _LEAK:
        found.append(
            f"alone it predicts the label (balanced accuracy {100 * share:.0f} %): "
            "leave it out if it is known only later"
        )
    if odd := [text for text in column.values if text.lower() in _LOOKS_MISSING and text not in rules.sentinels]:
        found.append(f"{odd[0]!r} looks like a missing value; it is kept as a category")
    if (code := _code(column, rules)) is not None:
        found.append(f'"{code}" looks like a code for a missing value: if it is, add sentinels = ["{code}"]')
    if rules.kind == "date":
        found.append("dates: --time splits by them")
    return found


def is_text(column: Column) -> bool:
    """Whether a column holds texts of several words, mostly distinct."""
    texts = [text for text in column.values[:2000] if text]
    if len(column.codes) < 20 or len(column.values) <= len(column.codes) // 2:
        return False
    return float(np.median([text.count(" ") + 1 for text in texts])) >= _TEXT_WORDS


def alone(column: Column, rules: ColumnRules, labels: Integer[np.ndarray, "rows"]) -> float:
    """Balanced accuracy of the column's own guess: learnt on every other row, judged on the rest.

    A guess is the class that is most over-represented among rows of the same value (of the same quantile, for many
    numbers). A value that was not seen before is a wrong guess.
    """
    if len(labels) < _LEAST_ROWS:
        return 0.0
    values = _coarse(column, rules)
    classes, size = int(labels.max()) + 1, int(values.max()) + 1
    counts = np.zeros((size, classes))
    np.add.at(counts, (values[::2], labels[::2]), 1.0)
    share = counts / np.maximum(counts.sum(0), 1)
    guess = np.where(counts.sum(1) > 0, share.argmax(1), -1)
    right = guess[values[1::2]] == labels[1::2]
    return float(np.mean([right[labels[1::2] == label].mean() for label in np.unique(labels[1::2])]))


def _coarse(column: Column, rules: ColumnRules) -> Integer[np.ndarray, "rows"]:
    if not rules.is_ordered or len(column.values) <= _BINS:
        return column.codes
    numbers = np.nan_to_num(numbers_of(column.values, rules.kind), nan=-np.inf)[column.codes]
    edges = np.unique(np.quantile(numbers[np.isfinite(numbers)], np.linspace(0, 1, _BINS + 1)))
    return np.searchsorted(edges, numbers)


def _is_identifier(column: Column, rules: ColumnRules) -> bool:
    """Nearly all values are distinct; measured numbers are, too, but they are not whole."""
    rows, values = len(column.codes), len(column.values)
    if rules.kind == "number":
        return values > max(100, 9 * rows // 10) and all(text.lstrip("+-").isdigit() for text in column.values if text)
    return rules.bins is None and rules.kind != "date" and values > max(100, rows // 2)


def _code(column: Column, rules: ColumnRules) -> str | None:
    """A code of enough rows that the rules do not know yet."""
    known = {number_of(text, "number") for text in rules.sentinels}
    counts = column.counts()
    for code in number_codes(column.values):
        if number_of(code, "number") not in known and counts[code] >= _FEWEST_CODES:
            return code
    return None


def missing_codes(values: Sequence[str]) -> list[str]:
    """Values of a column that look like codes for a missing value: words such as "?", and numbers such as -999."""
    return [text for text in values if text.lower() in _LOOKS_MISSING] + number_codes(values)


def number_codes(values: Sequence[str]) -> list[str]:
    """Values that stand apart at an end of a column of numbers, and are such that people write for "not known".

    For example, "-999" and "9999" among temperatures from -20 to 40.
    """
    written = [text for text in values if text and text != MISSING and text.lower() not in _LOOKS_MISSING]
    numbers = {number: text for text in written if (number := number_of(text, "number")) is not None}
    # Codes do not say where the others end, so that one code does not hide another.
    others = np.array([number for number in numbers if number not in _CODES])
    if len(numbers) < max(5, len(written)) or len(others) < 4:
        return []
    low, high = float(others.min()), float(others.max())
    far = 0.5 * (high - low)
    return [
        numbers[code]
        for code in _CODES
        if code in numbers and (code < 0 <= low or (code < 0 and code < low - far) or (code > 0 and code > high + far))
    ]
