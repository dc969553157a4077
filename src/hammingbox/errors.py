"""Errors a user can cause. Each message says what was expected, what was found, and how to fix it."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_SHOWN, _MOST_COMPARED, _LONGEST_SHOWN = 60, 2000, 200
"""Names that a message lists, names that are compared to find the closest, and characters of a name that are shown."""


class HammingboxError(Exception):
    """Base class of every error a user can cause; the command line prints it as one sentence and exits with 2."""


class InputError(HammingboxError, ValueError):
    """Invalid rows, labels, budgets or settings, or an optional library that is not installed."""


class MissingColumnsError(InputError):
    """A table without columns that the model takes.

    Attributes:
        columns: their names.
    """

    def __init__(self, message: str, columns: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)

    def with_label(self, label: str | None) -> InputError:
        """The same error for a table with this label column, which explains itself where the model takes the label."""
        if label is None or label not in self.columns:
            return self
        return InputError(
            f"expected a label that the model predicts, got {label!r}, a column that the model takes as a feature. "
            "Did you name the wrong label?"
        )


class VictimError(HammingboxError):
    """A victim that returns something other than finite logits, or lacks what an attack needs."""


class VictimRaisedError(VictimError):
    """A model that raised an error of its own when it was asked; other rows may be answered."""


class WorkerError(HammingboxError):
    """Workers that cannot be started or reached, or of which none is left."""


class AttackError(HammingboxError):
    """An attack that leaves S(x), its budget or its query limit: a defect of the attack, never a result."""


class CertificateError(HammingboxError):
    """A certificate that contradicts the victim or itself: a defect of the method, never a result."""


class FileError(HammingboxError):
    """A file that is missing or damaged, has another schema, or cannot be written."""


class TooExpensiveError(HammingboxError):
    """Work that is refused before it starts because it needs more victim passes than allowed."""


class OutOfTimeError(HammingboxError):
    """Work that is left for the next time because a time limit of the user's is over."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for an unknown name: lists the known names and suggests the closest one."""
    names = sorted(known)
    listed = ", ".join(names[:_MOST_SHOWN]) + (", ..." if len(names) > _MOST_SHOWN else "")
    return InputError(
        f"expected the name of a known {kind} ({listed}), got {name[:_LONGEST_SHOWN]!r}.{did_you_mean(name, names)}"
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The last sentence of a message about an unknown name: the closest known one, or "" if none is close.

    Case does not count, so that `Age` is close to `AGE`.
    """
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each.casefold(), each)
    wanted = name[:_LONGEST_SHOWN].casefold()
    close = [wanted] if wanted in folded else get_close_matches(wanted, list(folded)[:_MOST_COMPARED], n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def missing_library(library: str, extra: str, purpose: str, error: ImportError) -> InputError:
    """The error for an optional library that cannot be imported: names the extra that installs it.

    Args:
        library: its import name.
        extra: the optional dependency of this package that brings it.
        purpose: what it is needed for, as in "to read table.parquet".
        error: what the import raised; a library that is installed but broken says so here.
    """
    return InputError(f"expected {library} {purpose}, got: {error}. Run: pip install 'hammingbox[{extra}]'.")
