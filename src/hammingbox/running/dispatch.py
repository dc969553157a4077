"""The driver's side of every executor with workers: gives batches out, takes answers, and has lost ones done again."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from hammingbox.evaluation.rows import Rows
from hammingbox.running.attempts import Attempt, Attempts
from hammingbox.running.carried_rows import Arrays, pack_rows
from hammingbox.running.executor import BATCH_SIZE, BatchResult, Executor, Outcome, is_about_rows
from hammingbox.running.run_spec import Places, RunSpec
from hammingbox.victims.pass_watch import passed

_BATCHES = 16
"""Batches of a run with few rows: whatever the number of workers, because some models answer a row with other last bits
in a batch of another size."""
_LEAST_ROWS = 8
"""Batches are not made smaller than this to share them: an attack is slow on few rows."""


_FAST = 0.05
"""A worker whose last batch took fewer seconds gets the next one before it has finished. Asking for it takes a few
thousandths of a second, so longer batches need not wait behind another one while somebody else is idle at the end."""


@dataclass(frozen=True, eq=False)
class Computed:
    """A batch is done; `passes` are those that nobody was told about before."""

    ticket: int
    rows: Rows
    seconds: float
    passes: int = 0


@dataclass(frozen=True, eq=False)
class Raised:
    """A batch raised an error."""

    ticket: int
    error: Exception


@dataclass(frozen=True)
class Died:
    """A worker is gone.

    Attributes:
        working: the batch that it was computing; None if it had none.
        waiting: batches that it had not begun.
        reason: how it ended.
    """

    working: int | None
    waiting: Sequence[int]
    reason: str


@dataclass(frozen=True)
class Passed:
    """Rows have gone through the victim somewhere."""

    rows: int


Report = Computed | Raised | Died | Passed


def depth_of(seconds: float) -> int:
    """Batches that a worker may have at once, by the seconds of its last one: a quick one gets the next in advance."""
    return 2 if seconds < _FAST else 1


class Crew(ABC):
    """Workers that compute batches of one run at a time."""

    @abstractmethod
    def prepare(self, spec: RunSpec) -> None:
        """Makes a run the one that batches are computed of; workers are started if there are none.

        Raises:
            InputError: something of it cannot be sent.
        """

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether all workers have started."""

    @abstractmethod
    def has_room(self) -> bool:
        """Whether some worker can take a batch. Few batches wait, so that others may share the run."""

    @abstractmethod
    def give(self, ticket: int, places: Places, rows: Arrays | None) -> None:
        """Gives a batch to the worker with the fewest.

        Args:
            ticket: names it.
            places: of its rows in the run's data.
            rows: the rows themselves, where workers do not have them.
        """

    @abstractmethod
    def wait(self) -> Report:
        """Waits until something happens. A worker that dies is replaced.

        Raises:
            WorkerError: no worker is left, or none can be started.
        """


class CrewExecutor(Executor):
    """An executor with workers."""

    def __init__(self) -> None:
        self._tickets = count()

    @abstractmethod
    def crew(self) -> Crew:
        """The workers, started now if there are none."""

    def start(self) -> None:
        """Starts all workers and waits for them; without it they start with the first run, which does not wait.

        Raises:
            WorkerError: they cannot be started.
        """
        crew = self.crew()
        while not crew.is_ready():
            crew.wait()

    def batch_size(self, rows: int, most: int = BATCH_SIZE) -> int:
        """Batches that several workers can share, the same for every number of them."""
        return min(most, max(_LEAST_ROWS, -(-rows // _BATCHES)))

    def check(self, spec: RunSpec) -> None:
        """Refuses what cannot be sent to the workers."""
        self.crew().prepare(spec)

    def run(self, spec: RunSpec, batches: Iterable[Places]) -> Iterator[Outcome]:
        """Gives every worker a batch, and the next one as soon as there is room."""
        crew, attempts = self.crew(), Attempts(batches)
        crew.prepare(spec)
        # Answers to batches of a run that was broken off have tickets that nobody holds: they are left aside.
        out: dict[int, Attempt] = {}
        while True:
            is_all_given = False
            while crew.has_room() and not is_all_given:
                attempt = attempts.take()
                is_all_given = attempt is None
                if attempt is not None:
                    ticket = next(self._tickets)
                    out[ticket] = attempt
                    crew.give(ticket, attempt.places, pack_rows(spec.data, attempt.places))
            if is_all_given and not out:
                return
            report = crew.wait()
            if isinstance(report, Passed):
                passed(report.rows)
            elif isinstance(report, Computed) and report.ticket in out:
                passed(report.passes)
                yield BatchResult(out.pop(report.ticket).places, report.rows, report.seconds)
            elif isinstance(report, Raised) and report.ticket in out:
                if not is_about_rows(report.error):
                    raise report.error
                yield from attempts.raised(out.pop(report.ticket), report.error)
            elif isinstance(report, Died):
                for ticket in report.waiting:
                    if ticket in out:
                        attempts.put_back(out.pop(ticket))
                if report.working is not None and report.working in out:
                    yield from attempts.died(out.pop(report.working), report.reason)
