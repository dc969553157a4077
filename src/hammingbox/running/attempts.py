"""How often a batch is tried: again after a death, in halves after an error, and a row alone only a few times."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hammingbox.running.run_spec import Places

MOST_DEATHS = 3
"""Workers that die on a batch before it is split, and on a row before it is given up."""
MOST_RAISES = 2
"""Errors that a row raises, in its batch or alone, before it is given up."""
_LONGEST_REASON = 400


@dataclass(frozen=True, eq=False)
class RowFailure:
    """A row that was tried as often as allowed.

    Attributes:
        place: of the row in the run's data.
        reason: what happened, on one line.
        error: the last error; None when workers died.
    """

    place: int
    reason: str
    error: Exception | None = None


@dataclass(frozen=True, eq=False)
class Attempt:
    """Rows to be computed together, and what has happened to them so far.

    Attributes:
        places: of the rows in the run's data.
        deaths: workers that died on them.
        raises: errors that they raised.
    """

    places: Places
    deaths: int = 0
    raises: int = 0


class Attempts:
    """The batches of a run that are to be computed, those that failed before first.

    A worker that dies may have been killed by anybody, so its batch is tried again as it is, and split only if it goes
    on killing. An error belongs to the rows: the batch is split at once, and the innocent half is computed. A batch of
    256 rows with one bad row takes 17 attempts.

    Args:
        batches: taken one by one.
    """

    def __init__(self, batches: Iterable[Places]) -> None:
        self._fresh = iter(batches)
        self._again: deque[Attempt] = deque()

    def take(self) -> Attempt | None:
        """What to compute next; None when nothing is left."""
        if self._again:
            return self._again.popleft()
        places = next(self._fresh, None)
        return None if places is None else Attempt(places)

    def put_back(self, attempt: Attempt) -> None:
        """Has a batch computed again that nobody began."""
        self._again.append(attempt)

    def died(self, attempt: Attempt, reason: str) -> Iterator[RowFailure]:
        """Somebody died on these rows."""
        deaths = attempt.deaths + 1
        if deaths < MOST_DEATHS:
            self._again.append(Attempt(attempt.places, deaths, attempt.raises))
        elif len(attempt.places) > 1:
            self._split(attempt.places, MOST_DEATHS - 1, attempt.raises)
        else:
            yield RowFailure(int(attempt.places[0]), f"{deaths} workers died on this row, the last one: {reason}")

    def raised(self, attempt: Attempt, error: Exception) -> Iterator[RowFailure]:
        """These rows raised an error."""
        raises = attempt.raises + 1
        if len(attempt.places) > 1:
            self._split(attempt.places, attempt.deaths, raises)
        elif raises < MOST_RAISES:
            self._again.appendleft(Attempt(attempt.places, attempt.deaths, raises))
        else:
            yield RowFailure(int(attempt.places[0]), reason_of(error), error)

    def _split(self, places: Places, deaths: int, raises: int) -> None:
        middle = len(places) // 2
        for part in (places[middle:], places[:middle]):
            self._again.appendleft(Attempt(part, deaths, raises))


def reason_of(error: BaseException) -> str:
    """An error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST_REASON]
