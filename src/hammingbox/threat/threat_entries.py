"""The entries of a threat.toml: which there are, and what their values look like."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hammingbox.data.values import text_of
from hammingbox.errors import InputError, unknown_name
from hammingbox.threat.rules.prices import CANNOT
from hammingbox.threat.rules.unit import Unit, decimal_of

TOP = ("unit", "currency", "changes", "budgets", "positions", "columns", "gain", "relations", "derived")
COLUMN = (
    "price", "write", "pairs", "up", "down", "step", "order", "direction", "most_steps", "range", "relative", "window",
    "frozen",
)  # fmt: skip
GAIN = ("column", "value", "margin")
DERIVED = ("column", "formula", "by", "table", "agree")
RELATION = {
    "determines": ("by", "column", "table"),
    "combinations": ("columns", "allowed"),
    "formula": ("formula",),
    "implies": ("if", "then"),
    "one_hot": ("columns", "on", "least", "most"),
    "if_written": ("column", "values", "then"),
    "seen_together": ("columns", "ranges"),
    "function": ("function", "columns"),
}
"""The entries of each kind of relation, besides kind, name and agree."""
OPTIONAL = ("table", "allowed", "on", "least", "most", "values", "ranges")
CANNOT_WORD = "cannot"
OPEN = "*"
"""An open end of a range."""


def check_keys(value: Any, known: Sequence[str], what: str) -> Mapping[str, Any]:
    """A table whose every key is known.

    Raises:
        InputError: it is no table, or has another key.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"expected {what} as a table, got {value!r:.80}.")
    for key in value:
        if key not in known:
            raise unknown_name(f"entry of {what}", key, known)
    return value


def price_of(value: Any, unit: Unit | None) -> int:
    """A price in ticks; `CANNOT` for "cannot".

    Raises:
        InputError: it is no price, or there is no unit.
    """
    if value == CANNOT_WORD:
        return CANNOT
    number = decimal_of(value)
    if number is not None and number < 0:
        raise InputError(
            f'expected an amount of at least 0, got {_plain(value)}. A change that nobody can make costs "cannot".'
        )
    return amount_of(value, unit)


def amount_of(value: Any, unit: Unit | None) -> int:
    """An amount in ticks: a number, or a text with or without the currency.

    Raises:
        InputError: it is negative, no whole number of ticks, or in another currency.
    """
    if unit is None:
        raise InputError(f'expected a unit for the amount {value!s:.80}, got none. Add unit = "0.1" at the top.')
    if isinstance(value, str):
        number, _, currency = value.strip().partition(" ")
        if currency.strip() and currency.strip() != unit.currency:
            raise InputError(
                f"expected an amount in {unit.currency or 'the unit, without a currency'}, got {value!r:.80}. "
                "Convert it, or change currency at the top of the threat file."
            )
        value = number
    if decimal_of(value) is None:
        raise InputError(f'expected an amount such as 0.1 (or "cannot" as a price), got {value!r:.80}.')
    return unit.ticks(value)


def text_in_column(value: Any) -> str:
    """A value of a column as a text, however the file writes it.

    Raises:
        InputError: it is a list or a table.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        number = decimal_of(value)
        if number is None:
            raise InputError(f"expected a value of a column, got {value!s:.80}.")
        return text_of(float(number), "number")
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, str | date):
        return str(value)
    raise InputError(f"expected a value of a column, got {value!r:.80}.")


def texts_in_columns(value: Any, what: str) -> list[str]:
    """A list of values.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, list):
        raise InputError(f"expected {what} as a list, got {value!r:.80}.")
    return [text_in_column(part) for part in value]


def names_in(value: Any, what: str) -> list[str]:
    """A column name or a list of them.

    Raises:
        InputError: it is neither.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"expected {what} as column names, got {value!r:.80}.")
    return names


def text_in(value: Any, what: str) -> str:
    """A text.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, str):
        raise InputError(f"expected {what} as a quoted text, got {value!r:.80}.")
    return value


def whole_in(value: Any, what: str, least: int = 1) -> int:
    """A whole number.

    Raises:
        InputError: it is none, or too small.
    """
    if type(value) is not int or not least <= value <= 10**9:
        raise InputError(f"expected {what} as a whole number of at least {least}, got {_plain(value)}. Correct it.")
    return value


def _plain(value: Any) -> str:
    """As the file writes it: numbers with a point are read as decimals."""
    return str(value) if isinstance(value, Decimal) else f"{value!r:.80}"


def decimal_in(value: Any, what: str) -> Decimal:
    """A number, exactly.

    Raises:
        InputError: it is none.
    """
    number = None if isinstance(value, str) else decimal_of(value)
    if number is None:
        raise InputError(f"expected {what} as a number, got {value!r:.80}.")
    return number


def share_in(value: Any, what: str) -> float:
    """A share of the rows.

    Raises:
        InputError: it is not between 0 and 1.
    """
    share = decimal_in(value, what)
    if not 0 <= share <= 1:
        raise InputError(f"expected {what} as a share of the rows between 0 and 1, got {value}.")
    return float(share)
