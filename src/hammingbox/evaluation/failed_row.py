"""A row about which nothing is known, because nobody could compute it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedRow:
    """A row that could not be computed. It is in no rate: it was neither broken nor did it withstand anything.

    Attributes:
        number: of the row in its source.
        reason: what happened each time, on one line.
    """

    number: int
    reason: str
