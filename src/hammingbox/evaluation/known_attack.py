"""The attack or certificate of the package that a recorded `repr` describes."""

import ast
from types import ModuleType

import hammingbox.attacks
import hammingbox.certificates
from hammingbox.attacks import Attack
from hammingbox.certificates import Certificate
from hammingbox.errors import HammingboxError


def attack_from_repr(text: str) -> Attack | None:
    """Rebuilds an attack from its `repr`, which is parsed and never executed.

    Returns:
        The attack; None for an attack of a user's own, and where this version writes another `repr`.
    """
    found = _from_repr(text, hammingbox.attacks, Attack)
    return found if isinstance(found, Attack) else None


def certificate_from_repr(text: str) -> Certificate | None:
    """The same for a certificate."""
    found = _from_repr(text, hammingbox.certificates, Certificate)
    return found if isinstance(found, Certificate) else None


def _from_repr(text: str, module: ModuleType, base: type) -> object | None:
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            return None
        kind = getattr(module, call.func.id, None)
        if not (isinstance(kind, type) and issubclass(kind, base)):
            return None
        method = kind(**{str(part.arg): ast.literal_eval(part.value) for part in call.keywords})
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, HammingboxError):
        return None
    return method if repr(method) == text else None
