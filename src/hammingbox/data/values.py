"""Values that are more than names: texts of numbers, dates and booleans, and the numbers they stand for."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import isfinite, nan

import numpy as np
from jaxtyping import Float64

KINDS = ("category", "number", "date", "boolean")
"""What a column holds. The ids of every kind index its distinct values; those of numbers and dates are ordered."""
ORDERED = ("number", "date")
MISSING, UNKNOWN = "<missing>", "<unknown>"
"""Categories of an empty cell, and of a value that the schema does not know."""

Numbers = Float64[np.ndarray, "_"]
"""The numbers of one column; columns of one table differ in length."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)
"""ISO 8601 as files hold it: a day, or a day with a time. Week dates and digits without hyphens are no dates here."""
_PADDED = re.compile(r"[+-]?0\d")
"""How a code begins whose zeros a number would lose: a postcode, an account."""
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
_LARGEST_EXACT = 2**53
"""Larger whole numbers are not all different as floating-point numbers."""


def number_of(text: str, kind: str) -> float | None:
    """The number a text stands for: itself, seconds since 1970 (UTC) for a date, 0 or 1 for a boolean.

    None for a text that is not of this kind, and for every category.
    """
    if kind == "number":
        try:
            number = float(text)
        except ValueError:
            return None
        if "_" in text or not text.isascii():  # 2011_01 is a number for Python, and for no reader of files
            return None
        return number + 0.0 if isfinite(number) else None  # -0.0 becomes 0.0
    if kind == "date":
        return _seconds(text)
    return _TRUTH.get(text.lower()) if kind == "boolean" else None


def numbers_of(texts: Sequence[str], kind: str) -> Numbers:
    """The numbers of many texts; NaN for those that stand for none."""
    if kind == "category":
        return np.full(len(texts), nan)
    found = (number_of(text, kind) for text in texts)
    return np.fromiter((nan if number is None else number for number in found), dtype=np.float64, count=len(texts))


def text_of(number: float, kind: str) -> str:
    """The shortest text that stands for exactly this number: 3, not 3.0; a day without its midnight."""
    if kind == "date":
        moment = _EPOCH + timedelta(seconds=number)
        text = moment.replace(tzinfo=None).isoformat(sep=" ")
        return text.removesuffix(" 00:00:00")
    if kind == "boolean":
        return "true" if number else "false"
    return str(int(number)) if number.is_integer() and abs(number) <= _LARGEST_EXACT else repr(number)


def ordered_texts(texts: Iterable[str], kind: str) -> tuple[str, ...]:
    """The distinct values among texts, in increasing order, each with one text; what is no value is left out.

    A number is written in its shortest form. Dates and booleans keep a text of the file, as they have many forms.
    """
    text_by_number: dict[float, str] = {}
    for text in texts:
        number = number_of(text, kind)
        if number is not None:
            written = text_of(number, kind) if kind == "number" else text
            text_by_number[number] = min(written, text_by_number.get(number, written))
    return tuple(text_by_number[number] for number in sorted(text_by_number))


def stepped(number: float, step: int | float, kind: str) -> float:
    """A number after a step, in decimal arithmetic: 0.1 + 0.2 is 0.3. A step of a date is a number of days."""
    unit = _DAY if kind == "date" else 1
    return float(Decimal(repr(number)) + Decimal(repr(step)) * unit)


def is_exact_number(text: str) -> bool:
    """Whether a text is a number that floating point tells from its neighbours.

    Long identifiers are not, nor are codes with leading zeros: 00510 would become 510.
    """
    number = number_of(text, "number")
    if number is None or _PADDED.match(text):
        return False
    return abs(number) <= _LARGEST_EXACT or not text.lstrip("+-").isdigit()


def is_written_shortest(text: str) -> bool:
    """Whether a text is the one that stands for its number, so that nothing is lost where only the number is kept."""
    number = number_of(text, "number")
    return number is not None and text_of(number, "number") == text


def _seconds(text: str) -> float | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds()
