"""The attack of the package that a recorded `repr` describes."""

import ast

import hammingbox.attacks
from hammingbox.attacks import Attack
from hammingbox.errors import HammingboxError


def attack_from_repr(text: str) -> Attack | None:
    """Rebuilds an attack from its `repr`, which is parsed and never executed.

    Returns:
        The attack; None for an attack of a user's own, and where this version writes another `repr`.
    """
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            return None
        kind = getattr(hammingbox.attacks, call.func.id, None)
        if not (isinstance(kind, type) and issubclass(kind, Attack)):
            return None
        attack = kind(**{str(part.arg): ast.literal_eval(part.value) for part in call.keywords})
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, HammingboxError):
        return None
    return attack if repr(attack) == text else None
