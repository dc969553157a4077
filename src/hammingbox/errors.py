"""What can go wrong. A message says what was expected, what came, and what to do about it."""

from collections.abc import Iterable
from difflib import get_close_matches


class HammingboxError(Exception):
    """Base of every error a user can cause; the command line prints it as one sentence and exits with 2."""


class InputError(HammingboxError, ValueError):
    """Rows, labels, budgets or settings that do not fit."""


class VictimError(HammingboxError):
    """A victim that returns something other than finite logits, or lacks what an attack needs."""


class AttackError(HammingboxError):
    """An attack that leaves S(x), its budget or its query limit: a defect of the attack, never a result."""


class FileError(HammingboxError):
    """A file that is missing, damaged, of another schema, or cannot be written."""


class TooExpensiveError(HammingboxError):
    """Work refused before it starts because it would need more victim passes than allowed."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is in no table: lists the known ones and guesses the one that was meant."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    return InputError(f"expected the name of a known {kind} ({', '.join(names)}), got {name!r}.{guess}")
