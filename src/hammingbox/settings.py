"""Checks the settings of attacks, defences and training when they are created: type, choice and sign."""

import math
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hammingbox.errors import InputError, unknown_name


def check_settings(settings: Any) -> None:
    """Rejects a value of the wrong type, a string outside the allowed choices, and a number that is too small.

    Numbers must be above 0. Those that a class lists in `may_be_zero` may also be 0.

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
