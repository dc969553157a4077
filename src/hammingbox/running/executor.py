"""Who computes the batches of a run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

from hammingbox.evaluation.rows import Rows
from hammingbox.running.run_spec import Places, RunSpec


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


class Executor(ABC):
    """Computes batches of a run, in any order, here or elsewhere."""

    @abstractmethod
    def run(self, spec: RunSpec, batches: Iterable[Places]) -> Iterator[BatchResult]:
        """Computes batches and yields each as soon as it is there.

        Args:
            spec: the run.
            batches: places of rows; taken one by one, only as there is somebody to compute them, so that whoever
                offers them may share the rest with other processes.
        """


class Serial(Executor):
    """Computes one batch after the other in this process."""

    def run(self, spec: RunSpec, batches: Iterable[Places]) -> Iterator[BatchResult]:
        """Computes a batch only when the one before it has been taken."""
        for places in batches:
            begin = perf_counter()
            rows = spec.compute(places)
            yield BatchResult(places, rows, perf_counter() - begin)

    def __repr__(self) -> str:
        return "Serial()"
