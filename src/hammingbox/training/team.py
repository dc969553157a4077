"""Who trains a model: one process, or several that share the rows of every step. The first one keeps the records."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from hammingbox.errors import HammingboxError, WorkerError

T = TypeVar("T")
Self = TypeVar("Self", bound="Team")


class Team(ABC):
    """Processes that run the same training side by side, in step.

    Attributes:
        rank: number of this process; 0 leads: it reads and writes files and shows the progress.
        size: how many there are.
    """

    rank: int = 0
    size: int = 1

    @abstractmethod
    def tell(self, value: T) -> list[T]:
        """Tells a value to all processes; what each of them told, in the order of their ranks."""

    def exchange(self, value: T) -> list[T]:
        """As `tell`, and ends the training here if it failed elsewhere.

        Raises:
            HammingboxError: the error of another process.
        """
        told = self.tell(value)
        for rank, part in enumerate(told):
            if isinstance(part, _Failure) and rank != self.rank:
                raise _FailedElsewhereError(part)
        return told

    @contextmanager
    def in_step(self) -> Iterator[None]:
        """A part of the training in which processes meet in `exchange` only: all of them learn of an error in one."""
        try:
            yield
        except _FailedElsewhereError as error:
            raise error.failure.as_error() from None
        except Exception as error:
            if not isinstance(error, WorkerError):
                self.tell(_Failure(self.rank, error))
            raise

    @contextmanager
    def leading(self, job: Any) -> Iterator[None]:  # noqa: ARG002
        """The leader's part of a training: the others are told of it first, and let go if it breaks off."""
        yield

    def close(self) -> None:  # noqa: B027
        """Lets the other processes go; a team starts them again when it is used again."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def next_job(self) -> Any:
        """The next training that the leader tells a process that does not lead; None if there is none any more."""
        return None


class Alone(Team):
    """One process."""

    def tell(self, value: T) -> list[T]:
        """Nobody listens."""
        return [value]


class _Failure:
    """An error as it is told to the other processes: in words, unless it is one of this package."""

    def __init__(self, rank: int, error: Exception) -> None:
        self.kind: type[HammingboxError] = WorkerError
        if isinstance(error, HammingboxError):
            own = (kind for kind in type(error).__mro__ if kind.__module__ == HammingboxError.__module__)
            self.kind, self.text = next(own), str(error)
        else:
            reason = f"{type(error).__name__}: {error}"
            self.text = f"expected every process to train on its rows, got an error in process {rank}: {reason}"

    def as_error(self) -> HammingboxError:
        return self.kind(self.text)


class _FailedElsewhereError(Exception):
    def __init__(self, failure: _Failure) -> None:
        super().__init__()
        self.failure = failure
