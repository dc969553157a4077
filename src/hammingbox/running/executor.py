"""Who computes the batches of a run: the interface, and the executor that uses this process alone."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Any, TypeVar

from hammingbox.errors import HammingboxError, VictimRaisedError
from hammingbox.evaluation.rows import Rows
from hammingbox.running.attempts import Attempts, RowFailure
from hammingbox.running.run_spec import Places, RunSpec
from hammingbox.victims.victim import Victim

Self = TypeVar("Self", bound="Executor")


@dataclass(frozen=True, eq=False)
class BatchResult:
    """One batch of a run, computed.

    Attributes:
        places: where its rows stand in the run's data.
        rows: what happened to them.
        seconds: that it took.
    """

    places: Places
    rows: Rows
    seconds: float


BATCH_SIZE = 256
"""Rows of a batch by default."""
BLACK_BOX_BATCH_SIZE = 1024
"""The same for a victim without gradients: rows walk together, and models of trees answer large tables faster."""


def largest_batch(victim: Victim) -> int:
    """Rows of a batch at most, where nobody says how many."""
    return BATCH_SIZE if victim.has_gradient else BLACK_BOX_BATCH_SIZE


Outcome = BatchResult | RowFailure
"""What an executor gives back: rows, or a row that nobody could compute."""


class Executor(ABC):
    """Computes batches of a run, in any order, here or elsewhere. Use it as a context manager, or close it."""

    @abstractmethod
    def run(self, spec: RunSpec, batches: Iterable[Places]) -> Iterator[Outcome]:
        """Computes batches and yields each as soon as it is there.

        A batch whose rows make the victim raise is split until the row is found; the other rows are computed.

        Args:
            spec: the run.
            batches: places of rows; taken one by one, only as there is somebody to compute them, so that whoever
                offers them may share the rest with other processes.
        """

    def batch_size(self, rows: int, most: int = BATCH_SIZE) -> int:  # noqa: ARG002
        """Rows of a batch where nobody says how many: as large as allowed, because attacks are slow on few rows."""
        return most

    def environment(self) -> dict[str, Any]:
        """What differs from this process where rows are computed, see `hammingbox.evaluation.environment`."""
        return {}

    def check(self, spec: RunSpec) -> None:  # noqa: B027
        """Refuses a run that cannot be computed here, before anything of it is written.

        Raises:
            InputError: something of it cannot be sent to where rows are computed.
        """

    def close(self) -> None:  # noqa: B027
        """Ends what was started; the executor starts it again when it is used again."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Serial(Executor):
    """Computes one batch after the other in this process."""

    def run(self, spec: RunSpec, batches: Iterable[Places]) -> Iterator[Outcome]:
        """Computes a batch only when the one before it has been taken."""
        attempts = Attempts(batches)
        while (attempt := attempts.take()) is not None:
            begin = perf_counter()
            try:
                rows = spec.compute(attempt.places)
            except Exception as error:
                if not is_about_rows(error):
                    raise
                yield from attempts.raised(attempt, error)
                continue
            yield BatchResult(attempt.places, rows, perf_counter() - begin)

    def __repr__(self) -> str:
        return "Serial()"


def is_about_rows(error: Exception) -> bool:
    """Whether an error may be that of some rows only: the victim's own, or a lack of memory.

    Every other error of this package is about the whole run: a method that does not apply, an attack that cheats, a
    victim whose answers cannot be used.
    """
    return isinstance(error, VictimRaisedError) or not isinstance(error, HammingboxError)
