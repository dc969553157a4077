"""Settings of attacks, defences and trainings are checked where they are made: kind, choice and sign."""

import math
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from hammingbox.errors import InputError, unknown_name


def check_settings(settings: Any) -> None:
    """Refuses a value of another kind, a word that is none of its choices, and a number below its least value.

    Numbers are above 0 but for those that a class names in `may_be_zero`.

    Args:
        settings: a dataclass; each class of its ancestry speaks for its own settings.

    Raises:
        InputError: with what was expected.
    """
    may_be_zero = {name for kind in type(settings).__mro__ for name in vars(kind).get("may_be_zero", ())}
    for field in fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if get_origin(field.type) is Literal and value not in get_args(field.type):
            raise unknown_name(name, str(value), get_args(field.type))
        if not _fits(value, field.type):
            kind = field.type.__name__ if isinstance(field.type, type) else field.type
            raise InputError(f"expected {name} as {kind}, got {value!r}.")
        parts = value if isinstance(value, tuple) else (value,)
        if not parts:
            raise InputError(f"expected at least one value for {name}, got none.")
        for part in parts:
            if isinstance(part, float) and math.isinf(part):
                raise InputError(f"expected {name} as a finite number, got {part}.")
            if _is_number(part) and not (part >= 0 if name in may_be_zero else part > 0):
                raise InputError(f"expected {name} {'of at least' if name in may_be_zero else 'above'} 0, got {part}.")


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the kinds that settings have; a whole number is a number too."""
    if isinstance(kind, UnionType):
        return any(_fits(value, part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(part, get_args(kind)[0]) for part in value)
    if kind is int or kind is float:
        return _is_number(value) and isinstance(value, (int, kind))
    return isinstance(value, kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
