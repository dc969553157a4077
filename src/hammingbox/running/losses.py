"""Rows that nobody could compute: counted, or taken as a sign that nothing can be computed at all."""

from collections.abc import Sequence

from hammingbox.data.dataset import Dataset
from hammingbox.errors import VictimRaisedError
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.running.attempts import RowFailure

HOPELESS = 8
"""So many rows that fail before any row is computed say that it is not the rows that are bad."""


class Losses:
    """The failed rows of a run.

    Attributes:
        is_hopeful: some row of the run has been computed, now or earlier.
    """

    def __init__(self, *, is_hopeful: bool = False) -> None:
        self.is_hopeful = is_hopeful
        self._failures: list[RowFailure] = []

    def add(self, failure: RowFailure) -> None:
        """Counts a row.

        Raises:
            Exception: the victim's own error, when no row can be computed.
        """
        self._failures.append(failure)
        if not self.is_hopeful and len(self._failures) >= HOPELESS:
            self.check()

    def check(self) -> None:
        """Refuses a run of which no row could be computed.

        Raises:
            Exception: the victim's own error; VictimRaisedError where workers died.
        """
        if self.is_hopeful or not self._failures:
            return
        first = self._failures[0]
        if first.error is not None:
            raise first.error
        raise VictimRaisedError(
            f"expected the victim to answer rows, got none that could be computed: {first.reason}. "
            "Try --batch-size 1, fewer workers or more memory."
        )

    def rows_of(self, data: Dataset) -> tuple[FailedRow, ...]:
        """The rows with their numbers, in the order of these."""
        return failed_rows_of(self._failures, data)


def failed_rows_of(failures: Sequence[RowFailure], data: Dataset) -> tuple[FailedRow, ...]:
    """Failures by the numbers of their rows, in the order of these."""
    found = (FailedRow(int(data.numbers[failure.place]), failure.reason) for failure in failures)
    return tuple(sorted(found, key=lambda row: row.number))
