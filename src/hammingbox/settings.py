"""Checks the settings of attacks, defences and training when they are created: type, choice, sign and limit."""

import math
import operator
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hammingbox.errors import InputError, unknown_name

MOST_ROUNDS = 1_000_000
"""Largest number of rounds: steps, generations, epochs."""
MOST_POINTS = 10_000
"""Largest number of points per row that are held at once: samples, members of a population, a beam."""
MOST_DRAWS = 100_000
MOST_ROWS = 5_000_000
"""Largest number of rows of a batch, and of what is held in memory as a whole."""
MOST_TABLE_ROWS = 200_000_000
"""Largest number of rows of a table, which may be in files."""
LARGEST_MEMORY = 2**50
"""Bytes for a micro-batch: more than any machine has."""
LARGEST = 2**63 - 1
"""Largest whole number of any other setting, such as a limit on passes."""

LIMITS = {
    **dict.fromkeys(("steps", "generations", "epochs", "patience", "ramp", "warm", "starts", "sweep"), MOST_ROUNDS),
    **dict.fromkeys(("samples", "population", "beam", "flips", "batch", "tries", "n_adv", "extra"), MOST_POINTS),
    "draws": MOST_DRAWS,
    **dict.fromkeys(("batch_size", "robust_rows"), MOST_ROWS),
    "seed": 2**63 - 1,
}
"""The largest value of whole-number settings by name: with more, a run would never end or take the whole machine."""


def check_settings(settings: Any) -> None:
    """Rejects a value of the wrong type, a string outside the allowed choices, and a number that is out of range.

    Numbers must be above 0. Those that a class lists in `may_be_zero` may also be 0. Whole numbers are at most the
    number that `LIMITS` gives for their name, or `LARGEST`.

    Args:
        settings: a dataclass; each class of its hierarchy lists its own fields in `may_be_zero`.

    Raises:
        InputError: states what was expected.
    """
    owner: type = type(settings)
    may_be_zero = {name for kind in owner.__mro__ for name in vars(kind).get("may_be_zero", ())}
    kinds = _field_types(owner)
    for field in fields(settings):
        name, value, kind = field.name, getattr(settings, field.name), kinds[field.name]
        if get_origin(kind) is Literal and value not in get_args(kind):
            raise unknown_name(name, str(value), get_args(kind))
        if not _fits(value, kind):
            shown = kind.__name__ if isinstance(kind, type) else kind
            raise InputError(f"expected {name} as {shown}, got {value!r}.")
        parts = value if isinstance(value, tuple) else (value,)
        if not parts:
            raise InputError(f"expected at least one value for {name}, got none.")
        for part in parts:
            if isinstance(part, float) and math.isinf(part):
                raise InputError(f"expected {name} as a finite number, got {part}.")
            if _is_number(part) and not (part >= 0 if name in may_be_zero else part > 0):
                raise InputError(f"expected {name} {'of at least' if name in may_be_zero else 'above'} 0, got {part}.")
            if isinstance(part, int) and part > LIMITS.get(name, LARGEST):
                raise InputError(f"expected {name} of at most {LIMITS.get(name, LARGEST):,}, got {part:,}.")


def whole_number(name: str, value: Any, *, least: int = 1, most: int = LARGEST) -> int:
    """A whole number that a user passed as an argument, of Python or NumPy.

    Args:
        name: of the argument.
        value: what was passed.
        least: smallest value allowed.
        most: largest value allowed.

    Raises:
        InputError: it is a bool, a float or something else, or out of range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InputError(f"expected {name} as a whole number, got {value!r}.")
    if not least <= number <= most:
        raise InputError(f"expected {name} of {least:,} to {most:,}, got {number:,}.")
    return number


@cache
def _field_types(settings: type) -> dict[str, Any]:
    """The type of each field. `from __future__ import annotations` stores types as strings; they are resolved here.

    Raises:
        InputError: a type is a name that does not exist at run time.
    """
    try:
        return get_type_hints(settings)
    except NameError as error:
        raise InputError(
            f"expected field types of {settings.__name__} that exist at run time, got: {error}. "
            "Import the type at module level, not under TYPE_CHECKING."
        ) from error


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value has the type of a setting; an int also counts as a float."""
    origin = get_origin(kind)
    if origin is UnionType or origin is Union:
        return any(_fits(value, part) for part in get_args(kind))
    if origin is Literal:
        return value in get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(part, get_args(kind)[0]) for part in value)
    if kind is int or kind is float:
        return _is_number(value) and isinstance(value, (int, kind))
    return kind is Any or isinstance(value, origin or kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
